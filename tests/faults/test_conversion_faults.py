"""A conversion of a case that is killed, refused by others, or out of space: the case is whole, and nothing stays."""

import errno
import os
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from storage import passphrases
from storage.case import Case
from storage.conversion import encrypt_case, is_encrypted
from storage.documents import LineRecord
from storage.errors import CaseBusy, CaseLocked
from storage.files import part_file

POSIX = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals and limits")
PASSPHRASE = "correct horse battery"
LINES = 3000

CONVERT = """
import sys
from pathlib import Path
from storage import conversion
path, way, step, passphrase = Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
def stop(*given):
    print("there", flush=True)
    sys.stdin.readline()
if step:
    setattr(conversion, step, stop)
done = (conversion.encrypt_case if way == "encrypt" else conversion.decrypt_case)(path, passphrase)
print(done.is_encrypted, flush=True)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "c.redwell"
    fill(made)
    return made


def fill(path: Path) -> None:
    with Case(path) as case:
        lines = [LineRecord(n, 1, f"line {n} about Brandmoor") for n in range(1, LINES + 1)]
        case.documents.save("a" * 64, filename="f", kind="pdf", size_bytes=1, page_count=1, body={}, lines=lines)


def child(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", CONVERT, *map(str, arguments), PASSPHRASE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@POSIX
@pytest.mark.parametrize("way", ["encrypt", "decrypt"])
@pytest.mark.parametrize(
    ("step", "is_done"), [("_copy", False), ("_compare", False), ("flush", False), ("_flush_folder", True)]
)
def test_a_kill_leaves_the_old_case_or_the_new_one(path: Path, way: str, step: str, is_done: bool) -> None:
    if way == "decrypt":
        encrypt_case(path, PASSPHRASE)
    process = child(path, way, step)
    assert process.stdout.readline() == "there\n"
    assert part_file(path).exists() is not is_done
    process.send_signal(signal.SIGKILL)
    process.communicate()
    passphrases.remember(path, PASSPHRASE)
    with Case(path) as case:
        assert case.is_encrypted is ((way == "encrypt") is is_done)
        assert len(case.search.find("brandmoor", LINES + 1)) == LINES
        assert case._connection.query("PRAGMA integrity_check") == [("ok",)]
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@POSIX
def test_others_are_kept_out_until_it_is_done(path: Path) -> None:
    process = child(path, "encrypt", "flush")
    assert process.stdout.readline() == "there\n"
    with pytest.raises(CaseLocked, match=f"process {process.pid}"):
        Case(path)
    with pytest.raises(CaseBusy):
        Case(path, read_only=True)
    output, errors = process.communicate("go on\n", timeout=60)
    assert (output, errors) == ("True\n", "")
    assert is_encrypted(path)


USE = """
import sys
from storage.case import Case
case = Case(sys.argv[1], read_only=sys.argv[2] == "read")
case.listing.count_documents()
print("there", flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize(("how", "refused"), [("read", CaseBusy), ("write", CaseLocked)])
def test_a_case_that_another_process_uses_is_not_converted(path: Path, how: str, refused: type[Exception]) -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", USE, str(path), how], **pipes) as process:
        assert process.stdout.readline() == "there\n"
        with pytest.raises(refused):
            encrypt_case(path, PASSPHRASE)
        assert not is_encrypted(path)
        assert not part_file(path).exists()
        process.communicate("end\n", timeout=60)
    encrypt_case(path, PASSPHRASE)
    assert is_encrypted(path)


@POSIX
def test_a_disk_that_is_too_small_for_the_copy(tmp_path: Path) -> None:
    mount = tmp_path / "small"
    mount.mkdir()
    if shutil.which("mount") is None or os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=800k", "tmpfs", mount], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("this machine does not allow to mount a file system")
    try:
        fill(tmp_path / "c.redwell")
        path = Path(shutil.copy(tmp_path / "c.redwell", mount))
        assert 0.4e6 < path.stat().st_size < 0.8e6
        _, errors = child(path, "encrypt", "").communicate(timeout=60)
        assert "storage.errors.DiskFull" in errors
        assert [file.name for file in mount.iterdir()] == [path.name]
        with Case(path, read_only=True) as case:
            assert len(case.search.find("brandmoor", LINES + 1)) == LINES
    finally:
        subprocess.run(["umount", mount], check=True)


@POSIX
def test_replies_of_an_encrypted_case_survive_kill_9(tmp_path: Path) -> None:
    path, last = tmp_path / "c.redwell", -1
    passphrases.remember(path, PASSPHRASE)
    environment = {**os.environ, passphrases.VARIABLE: PASSPHRASE}
    process = subprocess.Popen(
        [sys.executable, "-c", WRITE, str(path)], stdout=subprocess.PIPE, text=True, env=environment
    )
    for _ in range(200):
        last = int(process.stdout.readline())
    process.kill()
    rest, _ = process.communicate()
    last = max([last, *(int(line) for line in rest.split("\n")[:-1])])
    with Case(path) as case:
        assert case.is_encrypted
        assert all(case.cache.get("kept", str(number)) == "x" * 900 for number in range(last + 1))


WRITE = """
import sys
from storage.case import Case
case = Case(sys.argv[1])
for number in range(10**9):
    case.cache.save("kept", str(number), "x" * 900)
    sys.stdout.write(f"{number}\\n")
    sys.stdout.flush()
"""


@POSIX
def test_a_share_that_flushes_no_folder_and_takes_no_rights_is_no_failure(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The case is another by then: it must not be said that it is as it was."""
    fsync = os.fsync

    def flush_files(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")
        fsync(descriptor)

    def refuse(*given: object, **more: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "fsync", flush_files)
    monkeypatch.setattr(shutil, "copymode", refuse)
    path.chmod(0o640)
    encrypt_case(path, PASSPHRASE)
    assert is_encrypted(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with Case(path) as case:  # its passphrase is known
        assert len(case.search.find("brandmoor", LINES + 1)) == LINES
