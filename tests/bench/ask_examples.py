"""Write engine/ask/examples.jsonl: the questions with gold of ask_SET.jsonl, and those of ask_worked.jsonl.

    python tests/bench/ask_examples.py

A question of which either row would do is no example. The sets UNSEEN are never examples: they measure.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "engine" / "ask" / "examples.jsonl"
_NAMES = (
    "questions second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
    "fifteenth sixteenth"
)
SETS = _NAMES.split()
UNSEEN = ["seventeenth", "eighteenth"]


def read(name: str) -> list[dict[str, Any]]:
    """Read a file of questions."""
    lines = (HERE / f"ask_{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def examples(names: list[str]) -> Iterator[dict[str, Any]]:
    """Make the questions of some sets examples, each with the first name and kind that its gold accepts."""
    for name in names:
        for gold in read(name):
            choices = [column.get("choices") for column in gold["columns"] if column["type"][0] == "one of"]
            if gold["grain"] != "either" and all(choices):
                columns = [_written(column) for column in gold["columns"]]
                yield {"question": gold["question"], "row": _row(gold), "columns": columns}


def all_values() -> list[dict[str, Any]]:
    """Return what the file holds."""
    return [*examples(SETS), *read("worked")]


def _row(gold: dict[str, Any]) -> str:
    return "document" if gold["grain"] == "document" else str(gold["thing"][0])


def _written(column: dict[str, Any]) -> str:
    kind = column["type"][0]
    choices = f" {', '.join(column['choices'])}" if kind == "one of" else ""
    return f"{column['names'][0]}: {kind}{choices}"


def main() -> None:
    """Write the file."""
    lines = [json.dumps(each, ensure_ascii=False) for each in all_values()]
    EXAMPLES.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
