"""A window without a screen, a worker of its own, and a case that was read once."""

from __future__ import annotations

import asyncio
import gc
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

os.environ["QT_QPA_PLATFORM"] = "offscreen"

import pytest
from gui_places import open_case, open_results
from gui_waiting import WAIT, breathe, shut
from invented_results import make_results
from PySide6.QtCore import QSettings, QThreadPool
from pytestqt.qtbot import QtBot
from watchdog import Watchdog
from worker_nursery import nursery

from desktop.app import make_window
from desktop.client import WORKER, WorkerClient
from desktop.places.results import ResultsPlace
from desktop.window import MainWindow
from engine.documents.options import ParseOptions
from engine.executor.sources import ingest
from storage.case import Case

ROOT = Path(__file__).resolve().parents[2]
# A worker takes no module from the current folder: where another checkout is installed, it would run that one's code.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
RECORDS = ROOT / "examples" / "police" / "records"
FILES = ("03_order*", "07_cad*", "08_prop*", "11_email*")
"""Records with a text layer, which are read in seconds."""
SCRIPTED = Path(__file__).resolve().parents[1] / "fixtures" / "scripted_redwell.py"
"""The program on a scripted model."""


@pytest.fixture(scope="session")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gui") / "records"
    folder.mkdir()
    for pattern in FILES:
        shutil.copy(next(RECORDS.glob(pattern)), folder)
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 nothing behind it")
    return folder


@pytest.fixture(scope="session")
def read_case(records: Path) -> Path:
    path = records.with_name("read.redwell")
    with Case(path) as case:
        asyncio.run(ingest(records, case, lambda event: None, dataset="r", options=ParseOptions(), workers=1))
    return path


@pytest.fixture
def case(read_case: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(read_case, tmp_path / "sample.redwell"))


@pytest.fixture
def settings(tmp_path: Path) -> QSettings:
    return QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat)


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep Start from looking at the machine by itself: that loads a model, for seconds, in every test with a window.

    Tests of what it finds have a fixture of this name of their own.
    """
    monkeypatch.setattr("desktop.places.start._LOOK_MILLISECONDS", 3_600_000)


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten two pauses that nearly every test of a question, or of a watched folder, would wait for."""
    monkeypatch.setattr("desktop.question.document.CHECK_MILLISECONDS", 20)
    monkeypatch.setattr("desktop.watched_folders.SETTLE_MILLISECONDS", 100)


@pytest.fixture(autouse=True)
def collected_here() -> Iterator[None]:
    """Collect garbage in this thread alone, as the app does: a widget that another thread ends is the end of all."""
    gc.disable()
    yield
    gc.collect(1)
    gc.enable()


@pytest.fixture(autouse=True)
def no_leaked_thread() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    assert QThreadPool.globalInstance().waitForDone(5000)
    assert set(threading.enumerate()) <= before


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give a model as many pages with a twelfth of the rows: Qt's tester looks at every cell again after every step."""
    monkeypatch.setattr("desktop.paged_model.PAGE_ROWS", 8)


@pytest.fixture(scope="session")
def forked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, ...]]:
    """The command that stands for Python's: it forks a process that has imported the worker already."""
    with nursery(tmp_path_factory.mktemp("nursery") / "socket") as command:
        yield command


@pytest.fixture
def worker_command(forked: tuple[str, ...]) -> tuple[str, ...]:
    """The command of the real worker; a test that looks at the process or stops it is marked UNFORKED."""
    return (*forked, *WORKER[2:])


@pytest.fixture
def client(qtbot: QtBot, worker_command: tuple[str, ...]) -> Iterator[WorkerClient]:
    made = WorkerClient(command=worker_command)
    with qtbot.waitSignal(made.ready, timeout=WAIT):
        made.start()
    yield made
    made.close()


@pytest.fixture
def show_window(
    qtbot: QtBot, settings: QSettings, worker_command: tuple[str, ...]
) -> Callable[[WorkerClient | None], MainWindow]:
    """Shows windows with a client of their own or the usual one, and closes them."""

    def show(client: WorkerClient | None = None) -> MainWindow:
        window = make_window(settings, client or WorkerClient(command=worker_command))
        qtbot.addWidget(window, before_close_func=shut)
        window.resize(1280, 720)
        window.show()
        return window

    return show


@pytest.fixture
def new_window(show_window: Callable[[], MainWindow]) -> Callable[[], MainWindow]:
    """Shows windows with a real worker."""
    return show_window


@pytest.fixture
def scripted_program() -> Path:
    """The program whose worker has a scripted model; a file of tests may name another."""
    return SCRIPTED


@pytest.fixture
def start_window(
    show_window: Callable[[WorkerClient], MainWindow], forked: tuple[str, ...], scripted_program: Path
) -> Callable[[float], MainWindow]:
    """Shows windows whose worker has a scripted model; its n-th reply takes n times so many seconds."""

    def start(seconds: float = 0.0) -> MainWindow:
        client = WorkerClient(command=(*forked, str(scripted_program), "worker"))
        os.environ["REDWELL_TEST_SECONDS"] = str(seconds)
        try:
            return show_window(client)
        finally:
            del os.environ["REDWELL_TEST_SECONDS"]

    return start


@pytest.fixture
def window(new_window: Callable[[], MainWindow]) -> MainWindow:
    return new_window()


@pytest.fixture
def opened(qtbot: QtBot, window: MainWindow, case: Path) -> MainWindow:
    """The window with the sample case open, and the table there."""
    open_case(qtbot, window, case)
    return window


@pytest.fixture
def place(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> ResultsPlace:
    """The place with the invented results in it."""
    path, _ = make_results(tmp_path / "made")
    place = open_results(qtbot, window, path)
    qtbot.waitUntil(lambda: place.model.result(5) is not None, timeout=WAIT)
    return place


LONGEST_MILLISECONDS = float(os.environ.get("REDWELL_LONGEST_BLOCK_MILLISECONDS", "1000"))
"""How long the event loop may be held up. A second says that the window waited for a worker, a disk or a model, on the
slowest machine too; what is shorter is measured by `redwell bench event_loop`."""


class EventLoopBlocked(AssertionError):
    """The event loop was held up. A virtual machine whose host is late looks the same, but not three times running."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "watch" in getattr(item, "fixturenames", ()):
            item.add_marker("event_loop")
            item.add_marker(pytest.mark.flaky(reruns=2, only_rerun=[EventLoopBlocked.__name__]))


@pytest.fixture
def watch(qtbot: QtBot) -> Iterator[Callable[[MainWindow], Watchdog]]:
    """Fails the test when the event loop was held up, in three runs of it, from when the watched window is painted."""
    dogs: list[Watchdog] = []

    def start(window: MainWindow) -> Watchdog:
        dog = Watchdog(limit_milliseconds=LONGEST_MILLISECONDS)
        window.closing.connect(dog.stop)
        with qtbot.waitExposed(window):
            pass
        breathe(qtbot)
        dog.start()
        dogs.append(dog)
        return dog

    yield start
    for dog in dogs:
        dog.stop()
    if blocks := [block for dog in dogs for block in dog.blocks]:
        raise EventLoopBlocked(f"for {', '.join(f'{block:.0f}' for block in blocks)} ms")


@pytest.fixture
def watchdog(watch: Callable[[MainWindow], Watchdog], window: MainWindow) -> Watchdog:
    return watch(window)
