"""Use everything in a packaged tree once, by the tree's own Python: what was left out too much of ends the build.

Every import that the code makes anywhere, also within functions, then the libraries that load more when they are used:
OCR reads a picture, Parquet and XLSX are written, Qt draws a widget into a picture without a screen.
"""

from __future__ import annotations

import ast
import importlib
import io
import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

ROOMS = ("engine", "models", "storage", "desktop")
OTHERS = ("ray", "vllm", "torch", "sentence_transformers", "transformers", "pandas", "huggingface_hub", "msvcrt")
"""What a package does not hold: runtimes that a user installs beside Redwell, and a module of Windows."""

BEHIND = ("rich.console:Console", "sqlite_utils.cli", "typer.main", "pygments.lexers:PythonLexer")
"""What libraries load behind those imports when they are used."""

SIZE = (640, 160)
WORDS = "Officer Smith 1984"


def main() -> int:
    """Print what is missing; return the exit code."""
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    failures = [failure for name in sorted(imported_names()) if (failure := failed_import(name))]
    for failure in failures:
        print(f"tree_check.py: {failure}", file=sys.stderr)
    if failures:
        return 3
    read_picture()
    write_tables()
    draw_window()
    print(f"used: {len(imported_names())} imports, OCR, tables, a window")
    return 0


def imported_names() -> set[str]:
    """Return what the modules of Redwell import: "module" or "module:name"."""
    names = set(BEHIND)
    for room in ROOMS:
        spec = find_spec(room)
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            for path in Path(folder).rglob("*.py"):
                names.update(imports_of(ast.parse(path.read_text(encoding="utf-8"))))
    return {name for name in names if name.partition(":")[0].partition(".")[0] not in OTHERS}


def imports_of(tree: ast.Module) -> Iterator[str]:
    """Yield the imports of a module, wherever they stand, but not those for a type checker alone."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (f"{node.module}:{alias.name}" for alias in node.names)


def failed_import(name: str) -> str:
    """Import one name; return what went wrong, "" if nothing did."""
    module, _, attribute = name.partition(":")
    try:
        loaded = importlib.import_module(module)
        if attribute and attribute != "*" and not hasattr(loaded, attribute):
            importlib.import_module(f"{module}.{attribute}")
    except ImportError as error:
        return f"{name}: {error}"
    return ""


def read_picture() -> None:
    """Have OCR read words from a picture; raises SystemExit if it does not."""
    import cv2  # noqa: PLC0415
    import numpy as np  # noqa: PLC0415

    from engine.documents.ocr import load_ocr  # noqa: PLC0415

    picture = np.full((SIZE[1], SIZE[0], 3), 255, np.uint8)
    cv2.putText(picture, WORDS, (20, 90), cv2.FONT_HERSHEY_SIMPLEX, 1.6, (0, 0, 0), 3)
    page = load_ocr(1).read(picture, 72 / 150)
    read = " ".join(fragment.text for fragment in page.fragments)
    if read.replace(" ", "") != WORDS.replace(" ", ""):
        raise SystemExit(f"tree_check.py: OCR read {read!r} where {WORDS!r} stands")


def write_tables() -> None:
    """Write a row as Parquet and XLSX and read months and currencies."""
    import xlsxwriter  # noqa: PLC0415
    from arro3.core import Array, DataType, Table  # noqa: PLC0415
    from arro3.io import read_parquet, write_parquet  # noqa: PLC0415

    from engine.text.dates import LANGUAGES, month_numbers  # noqa: PLC0415
    from engine.values.amount import codes  # noqa: PLC0415

    file = io.BytesIO()
    write_parquet(Table.from_pydict({"name": Array(["Smith"], DataType.utf8())}), file)
    file.seek(0)
    assert read_parquet(file).read_all().num_rows == 1
    with xlsxwriter.Workbook(io.BytesIO()) as book:
        book.add_worksheet().write(0, 0, "Smith")
    assert len(month_numbers()) > 12 * len(LANGUAGES) / 2
    assert "EUR" in codes()


def draw_window() -> None:
    """Draw a label with a picture of each kind that the window shows."""
    from PySide6.QtGui import QImageReader  # noqa: PLC0415
    from PySide6.QtWidgets import QApplication, QLabel  # noqa: PLC0415

    app = QApplication([])
    label = QLabel("Redwell")
    assert not label.grab().toImage().isNull()
    formats = {bytes(name.data()).decode() for name in QImageReader.supportedImageFormats()}
    missing = {"png", "jpeg", "svg"} - formats
    if missing:
        raise SystemExit(f"tree_check.py: Qt reads no {', '.join(sorted(missing))}")
    app.quit()


if __name__ == "__main__":
    sys.exit(main())
