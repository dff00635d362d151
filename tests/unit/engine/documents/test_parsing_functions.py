"""What a pipeline's own parsing function raises is told with its kind, its message and the place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.documents.parsers import call_parser
from engine.errors import DocumentError


def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    monkeypatch.chdir(tmp_path)
    command: dict[str, Any] = {"function": "mine", "item": {"src": "a"}, "arguments": {}, "scratch": str(tmp_path)}
    call_parser({**command, "folder": str(tmp_path), "code": f"def mine(row):\n    import errno\n    {line}"})


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("return row['b']", "(KeyError: 'b') in <mine>, line 3"),
        ("raise OSError(errno.EACCES, 'Permission denied')", "Permission denied) in <mine>, line 3"),
        ("return 'text'", "(TypeError: it returned str, not a list of dictionaries)"),
    ],
)
def test_a_function_that_fails_is_told_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, told: str
) -> None:
    with pytest.raises(DocumentError) as caught:
        call(tmp_path, monkeypatch, line)
    assert caught.value.reason == "parser_failed"
    assert str(caught.value).endswith(told)


@pytest.mark.parametrize(
    ("line", "kind"), [("raise OSError(errno.ENOSPC, 'full')", OSError), ("raise MemoryError", MemoryError)]
)
def test_a_machine_without_room_is_no_fault_of_the_function(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, kind: type[Exception]
) -> None:
    with pytest.raises(kind):
        call(tmp_path, monkeypatch, line)
