"""Files that only their owner may read: cases with what lies beside them, and exports, whatever the umask says."""

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_storage_verification import filled

from storage.backup import backup_case
from storage.case import Case
from storage.conversion import encrypt_case
from storage.export.csv import write_csv
from storage.export.files import write_table
from storage.export.table import ResultRow, ResultTable
from storage.repair import repair_case

pytestmark = pytest.mark.skipif(os.name != "posix", reason="rights of files are POSIX")


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, str]:
    return {path.name: oct(stat.S_IMODE(path.stat().st_mode)) for path in folder.iterdir()}


def test_a_case_and_what_lies_beside_it(tmp_path: Path) -> None:
    with Case(tmp_path / "c.redwell") as case:
        case.cache.save("k", "1", 1)
        expected = {f"c.redwell{ending}": "0o600" for ending in ("", "-wal", "-shm", ".lock")}
        assert modes(tmp_path) == expected
    assert modes(tmp_path) == {"c.redwell": "0o600"}


def test_copies_of_a_case(tmp_path: Path) -> None:
    path = filled(tmp_path / "c.redwell")
    backup_case(path, tmp_path / "backup.redwell")
    repair_case(path, tmp_path / "repaired.redwell")
    encrypt_case(path, "correct horse battery")
    assert set(modes(tmp_path).values()) == {"0o600"}


def test_a_case_that_its_owner_shares_stays_shared(tmp_path: Path) -> None:
    path = tmp_path / "c.redwell"
    Case(path).close()
    path.chmod(0o660)
    with Case(path) as case:
        case.cache.save("k", "1", 1)
        assert set(modes(tmp_path).values()) == {"0o660"}


@pytest.mark.parametrize("suffix", ["csv", "xlsx", "jsonl", "json", "parquet", "sqlite"])
def test_exports(tmp_path: Path, suffix: str) -> None:
    out = tmp_path / f"out.{suffix}"
    table = ResultTable(("a",), (ResultRow("r1", {"a": 1}),))
    write_table(table, out)
    assert modes(tmp_path) == {out.name: "0o600"}


def test_an_export_in_the_place_of_an_open_file_is_private(tmp_path: Path) -> None:
    (tmp_path / "out.csv").touch(0o666)
    write_csv(ResultTable(("a",), ()), tmp_path / "out.csv")
    assert modes(tmp_path) == {"out.csv": "0o600"}


def test_what_the_program_makes_besides_is_private(tmp_path: Path) -> None:
    script = "import os; os.umask(0); from engine.cli.main import run; run()"
    environment = {**os.environ, "REDWELL_CACHE": str(tmp_path / "cache")}
    made = subprocess.run(
        [sys.executable, "-c", script, "new", "people", "q.yaml"], cwd=tmp_path, env=environment, check=False,
        capture_output=True, text=True,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    assert modes(tmp_path)["q.yaml"] == "0o600"
