"""Make the corpora of 1,000 and 10,000 pages: `redwell bench corpus --out FOLDER` (quick: 100 pages alone).

`python tests/bench/corpus.py FOLDER --pages N` makes one of any size. `redwell bench overnight` runs one to its end.
"""

from __future__ import annotations

import time

from corpus import describe, make_corpus
from side_by_side import Settings

SIZES = (1_000, 10_000)


def test_corpora() -> None:
    """Print what was made and how long it took; a corpus that is there already is left alone."""
    chosen = Settings.from_environment()
    print()
    for pages in (100,) if chosen.quick else SIZES:
        folder = chosen.out / f"corpus-{pages}"
        if folder.exists():
            print(f"{folder} is there already")
            continue
        began = time.perf_counter()
        made = make_corpus(folder, pages)
        print(f"{folder}, made in {time.perf_counter() - began:.0f} s\n{describe(made)}")
        assert made.pages >= pages
