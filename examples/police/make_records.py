"""Print the records of the sample case from the texts in `source`, the same every time.

Run `python examples/police/make_records.py [FOLDER]`; without FOLDER the records beside this file are replaced.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from printing.mail import print_mail
from printing.scan import print_scan
from printing.sheets import print_sheet
from printing.word import print_word
from ruamel.yaml import YAML

HERE = Path(__file__).resolve().parent


def print_text(source: dict[str, Any]) -> bytes:
    return source["body"].encode()


PRINTERS: dict[str, Callable[[dict[str, Any]], bytes]] = {
    "pdf": print_sheet,
    "scan": print_scan,
    "docx": print_word,
    "txt": print_text,
    "eml": print_mail,
}


def make_records(folder: Path) -> list[Path]:
    """Write one file per source into `folder` and return their paths, sorted."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for path in sorted((HERE / "source").glob("*.yaml")):
        source = YAML(typ="safe").load(path.read_text(encoding="utf-8"))
        target = folder / source["file"]
        target.write_bytes(PRINTERS[source["kind"]](source))
        written.append(target)
    return written


if __name__ == "__main__":
    for record in make_records(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "records"):
        print(f"{record.stat().st_size:>9,}  {record.name}")
