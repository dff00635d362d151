"""Which files of a large folder are read for a build: those of which a sample is drawn, and no more.

Reading thousands of scans would take longer than the build. So files are drawn by their bytes as rows are by characters
(engine.optimizer.sampling), several for each document of the sample; the estimate for all goes by bytes too.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

FILES_PER_ROW = 6
"""Files that are read for each document of the sample: behind filters four times as many are tried, and some fail."""


@dataclass
class FileDraw:
    """Chooses files of folders. `reviewed` are files of which a person judged rows; they are read in any case."""

    seed: int
    rows: int
    reviewed: Collection[Path] = ()
    all_bytes: int = 0
    chosen_bytes: int = 0

    @property
    def times(self) -> float:
        """Return how many times what was read all files are, by bytes; 1 where no folder was read."""
        return self.all_bytes / self.chosen_bytes if self.chosen_bytes else 1.0

    def __call__(self, files: Sequence[Path]) -> list[Path]:
        """Choose files, in the order of their paths."""
        sizes = {path: max(1, path.stat().st_size) for path in files if path.is_file()}
        kept = set(self.reviewed) & sizes.keys()
        for path in sorted(sizes, key=lambda path: -math.log(self._uniform(path)) / sizes[path]):
            if len(kept) >= self.rows * FILES_PER_ROW:
                break
            kept.add(path)
        self.all_bytes += sum(sizes.values())
        self.chosen_bytes += sum(sizes[path] for path in kept)
        return sorted(kept, key=lambda path: path.parts)

    def _uniform(self, path: Path) -> float:
        """Return a number in (0, 1) that depends on the seed and the file's name alone."""
        digest = hashlib.sha256(f"{self.seed} {path.name}".encode(errors="surrogateescape")).digest()
        return (int.from_bytes(digest[:8], "big") + 0.5) / 2**64
