"""How fast files are read, over all cases of this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.executor.reading_rates import MOST_SECONDS, Reading, remember_readings, remembered_readings


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REDWELL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_readings_add_up_by_kind() -> None:
    assert remembered_readings() == {}
    remember_readings({"pdf": Reading(1, 3, 300, 6.0), "text": Reading(2, 2, 20, 0.1)})
    remember_readings({"pdf": Reading(1, 1, 100, 2.0)})
    assert remembered_readings() == {"pdf": Reading(2, 4, 400, 8.0), "text": Reading(2, 2, 20, 0.1)}


def test_only_the_last_hour_counts() -> None:
    remember_readings({"pdf": Reading(100, 200, 4000, 2 * MOST_SECONDS)})
    assert remembered_readings()["pdf"] == Reading(50, 100, 2000, MOST_SECONDS)


def test_a_damaged_record_is_as_good_as_none(cache: Path) -> None:
    cache.mkdir()
    for text in ("{", "[]", '{"pdf": {"pages": "x"}}', '{"pdf": {"other": 1}}'):
        (cache / "reading_rates.json").write_text(text)
        assert remembered_readings() == {}
    remember_readings({"pdf": Reading(1, 1, 1, 1.0)})
    assert set(remembered_readings()) == {"pdf"}


def test_nothing_is_written_for_nothing(cache: Path) -> None:
    remember_readings({})
    assert not cache.exists()
