"""Start the app: one QApplication, the worker, the window."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QObject, QSettings, QTimer
from PySide6.QtWidgets import QApplication

from desktop.client import WORKER, WorkerClient
from desktop.settings_values import font_scale_of, worker_environment
from desktop.workspace import Workspace
from engine.disk import private_umask

if TYPE_CHECKING:
    from desktop.window import MainWindow

ORGANISATION = "Redwell"
PASSPHRASE = "REDWELL_CASE_PASSPHRASE"
"""Opens the case of the command line, where it is encrypted."""


def make_app(arguments: Sequence[str]) -> QApplication:
    """Return the one QApplication of this process, with our names and colours."""
    existing = QApplication.instance()
    app = existing if isinstance(existing, QApplication) else QApplication(list(arguments))
    app.setApplicationName("Redwell")
    app.setOrganizationName(ORGANISATION)
    return app


def make_window(
    settings: QSettings, client: WorkerClient | None = None, *, case: str = "", passphrase: str = ""
) -> MainWindow:
    """Start the worker and make the window; it is not shown yet. `case`: a case to open, with its passphrase."""
    app = make_app(sys.argv[:1])
    client = client or WorkerClient()
    client.environment = worker_environment(settings)
    client.start()
    workspace = Workspace(client, settings)
    if case:
        if passphrase:
            client.unlock(str(Path(case).expanduser().resolve()), passphrase)
        workspace.open_case(case)
        client.flush()
    # The modules of the window are read while the worker starts and opens the case, which takes as long: what it tells
    # waits for the loop.
    from desktop.theme import apply_theme, icon, theme_of  # noqa: PLC0415
    from desktop.window import MainWindow  # noqa: PLC0415

    apply_theme(app, theme_of(settings), font_scale_of(settings))
    app.setWindowIcon(icon("documents"))
    window = MainWindow(workspace)
    client.setParent(window)
    return window


def main(arguments: Sequence[str], *, passphrase: str = "", network: bool = False) -> int:
    """Run the app until its window is closed; `arguments` as in sys.argv, a case may be the first one.

    `passphrase` opens that case. `network`: the worker may reach the network whatever is set up here.
    """
    private_umask()
    app = make_app(arguments)
    Collector(app)
    inherited = os.environ.pop(PASSPHRASE, "")  # before the worker starts, which would take it for other cases, too
    client = WorkerClient(command=(*WORKER, "--network") if network else WORKER)
    case = arguments[1] if len(arguments) > 1 else ""
    window = make_window(QSettings(), client=client, case=case, passphrase=passphrase or inherited)
    window.show()
    gc.freeze()  # what is there now stays: no collection need look at it
    return app.exec()


_LOOK_MILLISECONDS = 500


class Collector(QObject):
    """Turns the automatic collection off and looks twice a second whether one is due; lives as long as the app."""

    def __init__(self, app: QCoreApplication) -> None:
        super().__init__(app)
        gc.disable()
        timer = QTimer(self, interval=_LOOK_MILLISECONDS)
        timer.timeout.connect(collect_what_is_due)
        timer.start()


def collect_what_is_due() -> None:
    """Collect the oldest generation whose threshold is passed, as Python would have done by itself."""
    due = [
        generation
        for generation, (count, threshold) in enumerate(zip(gc.get_count(), gc.get_threshold(), strict=True))
        if count > threshold
    ]
    if due:
        gc.collect(max(due))
