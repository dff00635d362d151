import os
from pathlib import Path

import pytest

from storage.errors import ExportError
from storage.export.atomic import replacing
from storage.export.csv import write_csv
from storage.export.files import SUFFIXES, write_table
from storage.export.table import ResultRow, ResultTable


def test_an_export_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "o.csv"
    target.write_text("the earlier export")
    with pytest.raises(ZeroDivisionError), replacing(target) as path:
        path.write_text("half")
        raise ZeroDivisionError
    assert target.read_text() == "the earlier export"
    assert [path.name for path in tmp_path.iterdir()] == ["o.csv"]


def test_what_killed_exports_left_goes_with_a_later_export(tmp_path: Path) -> None:
    old = {f".redwell-0123456789ab.tmp{ending}" for ending in ("", "-journal")}
    others = {".redwell-notes.tmp", ".redwell-ba9876543210.tmp"}
    for name in old | others:
        (tmp_path / name).write_text("half")
    for name in (*old, ".redwell-notes.tmp"):
        os.utime(tmp_path / name, (0, 0))
    write_csv(ResultTable(("a",), ()), tmp_path / "o.csv")
    assert {path.name for path in tmp_path.iterdir()} == {"o.csv", *others}


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_export_that_has_nowhere_to_go(tmp_path: Path, suffix: str) -> None:
    table = ResultTable(("a",), (ResultRow("r", {"a": 1}),))
    with pytest.raises(ExportError, match="no folder") as caught:
        write_table(table, tmp_path / "none" / f"o{suffix}")
    assert "Make the folder" in caught.value.advice
    (tmp_path / f"d{suffix}").mkdir()
    with pytest.raises(ExportError, match="not a file"):
        write_table(table, tmp_path / f"d{suffix}")
    if os.name == "posix":
        with pytest.raises(ExportError, match="not written"):
            write_table(table, tmp_path / ("n" * 300 + suffix))


@pytest.mark.skipif(not hasattr(os, "symlink") or os.name != "posix", reason="needs links")
def test_an_export_follows_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    write_csv(ResultTable(("a",), ()), tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() == "a,a_source\n"
