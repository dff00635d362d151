"""Our change to llama.cpp's source is made whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from llama_patch import (
    CACHE,
    CHANGES,
    MATRICES,
    OPERATIONS,
    REPACKING,
    THREADS,
    THREADS_HEADER,
    Insertion,
    PatchFailed,
    Replacement,
    patch_source,
)

INSERTIONS = [change for change in CHANGES if isinstance(change, Insertion)]
REPLACEMENTS = [change for change in CHANGES if isinstance(change, Replacement)]
PARTS = {part: None for r in REPLACEMENTS for part in (r.begin, r.old, r.end)}


def write_source(root: Path, leave_out: str = "") -> dict[str, str]:
    texts = {
        file: "".join(f"before\n{i.anchor}after\n" for i in INSERTIONS if i.file == file and i.anchor != leave_out)
        for file in (OPERATIONS, MATRICES, CACHE, REPACKING, THREADS, THREADS_HEADER)
    }
    for file in {r.file: None for r in REPLACEMENTS}:
        own = [r for r in REPLACEMENTS if r.file == file]
        # The same lines stand in another kernel, too, which is left alone.
        parts = [own[0].begin, *(r.old for r in own), own[0].end, *(r.old for r in own)]
        texts[file] = "".join(f"{part}between\n" for part in parts if part != leave_out)
    for file, text in texts.items():
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text(text)
    return texts


def test_puts_every_piece_at_its_anchor(tmp_path: Path) -> None:
    write_source(tmp_path)
    patch_source(tmp_path)
    for insertion in INSERTIONS:
        text = (tmp_path / insertion.file).read_text()
        assert text.count(f"{insertion.before}{insertion.anchor}{insertion.after}") == 1
    for replacement in REPLACEMENTS:
        changed, other = (tmp_path / replacement.file).read_text().split(replacement.end)
        assert replacement.new in changed
        assert replacement.old not in changed
        assert other.count(replacement.old) == 1
    assert "redwell_flash_attn(params, dst);" in (tmp_path / OPERATIONS).read_text()
    assert "static bool find_cells_by_tiles(" in (tmp_path / CACHE).read_text()
    assert "redwell_repacks(cur)" in (tmp_path / REPACKING).read_text()
    assert "redwell_multiply(params, dst);" in (tmp_path / MATRICES).read_text()


@pytest.mark.parametrize("missing", [*(i.anchor for i in INSERTIONS), *PARTS])
def test_refuses_a_source_it_was_not_written_for(tmp_path: Path, missing: str) -> None:
    texts = write_source(tmp_path, leave_out=missing)
    with pytest.raises(PatchFailed, match="must be adapted"):
        patch_source(tmp_path)
    assert {file: (tmp_path / file).read_text() for file in texts} == texts


def test_refuses_an_anchor_that_is_there_twice(tmp_path: Path) -> None:
    write_source(tmp_path)
    path = tmp_path / CACHE
    path.write_text(path.read_text() * 2)
    with pytest.raises(PatchFailed, match="exactly one"):
        patch_source(tmp_path)


def test_says_where_the_source_is_missing(tmp_path: Path) -> None:
    with pytest.raises(PatchFailed, match=r"CMakeLists\.txt cannot be read"):
        patch_source(tmp_path)
