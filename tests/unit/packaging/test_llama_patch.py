"""Our change to llama.cpp's source is made whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from llama_patch import CELLS, FILE, FIND_SLOT, INCLUDES, PatchFailed, patch_source


def write_source(root: Path, text: str) -> Path:
    path = root / FILE
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return path


def test_adds_the_search_and_its_call(tmp_path: Path) -> None:
    path = write_source(tmp_path, f"{INCLUDES}\n{FIND_SLOT}{CELLS} = 0;\n}}\n")
    patch_source(tmp_path)
    text = path.read_text()
    assert text.index("static bool find_aligned_cells(") < text.index(FIND_SLOT)
    assert text.index("continue;", text.index(FIND_SLOT)) < text.index("uint32_t head_cur = 0;")


def test_refuses_a_source_it_was_not_written_for(tmp_path: Path) -> None:
    original = f"{INCLUDES}\n{FIND_SLOT}"
    path = write_source(tmp_path, original)
    with pytest.raises(PatchFailed, match="const auto & cells"):
        patch_source(tmp_path)
    assert path.read_text() == original


def test_says_where_the_source_is_missing(tmp_path: Path) -> None:
    with pytest.raises(PatchFailed, match=r"llama-kv-cache\.cpp cannot be read"):
        patch_source(tmp_path)
