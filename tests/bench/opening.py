"""The window of `redwell desktop CASE` says when it can be used, and closes: `python -m tests.bench.opening CASE`.

Each line has what is there and the second it came, counted from the start of this process.
"""

from __future__ import annotations

import os
import sys
import time

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")


def seconds() -> float:
    """Return how long this process has lived."""
    with open("/proc/self/stat", encoding="ascii") as stat:  # noqa: PTH123 - pathlib is not imported yet
        ticks = int(stat.read().rpartition(")")[2].split()[19])
    return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")


def main() -> int:
    """Open the case and quit when its documents are there."""
    from PySide6.QtCore import QTimer  # noqa: PLC0415 - this is what is measured

    from desktop.app import main as redwell_desktop  # noqa: PLC0415
    from desktop.app import make_app  # noqa: PLC0415

    app = make_app(["redwell"])
    told: list[str] = []
    timer = QTimer(interval=5)

    def tell(what: str) -> None:
        if what not in told:
            told.append(what)
            print(f"{what}: {seconds():.2f} s", flush=True)

    def look() -> None:
        window = next((found for found in app.topLevelWidgets() if hasattr(found, "places")), None)
        if window is None or not window.isVisible():
            return
        tell("the window is shown")
        documents = next(place for place in window.places if place.name == "Documents")
        if documents.model.rowCount() and documents.model.row(0) is not None:
            tell("its documents are there")
            window.close()

    timer.timeout.connect(look)
    timer.start()
    tell("Qt is loaded")
    return redwell_desktop(["redwell", sys.argv[1]])


if __name__ == "__main__":
    sys.exit(main())
