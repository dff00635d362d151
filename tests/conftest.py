"""Make the modules of tests/fixtures importable from every test; draw the same examples in every run.

HYPOTHESIS_PROFILE=explore draws new examples instead, to look for what no one has thought of.
"""

import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from storage import passphrases, upgrade_notice

settings.register_profile("repeat", derandomize=True, database=None, deadline=None)
settings.register_profile("explore", max_examples=1000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeat"))
sys.path.insert(0, str(Path(__file__).parent / "fixtures"))

MEMORY_DISK = Path("/dev/shm")
ROOM_BYTES = 4 << 30


def pytest_configure(config: pytest.Config) -> None:
    """Keep temporary files in memory where there is room: on a disk the suite waits for it a tenth of its time.

    They go at the end; `--basetemp FOLDER` keeps them. The workers of xdist have the variable from the first process.
    """
    is_set = "PYTEST_DEBUG_TEMPROOT" in os.environ
    if not is_set and MEMORY_DISK.is_dir() and shutil.disk_usage(MEMORY_DISK).free > ROOM_BYTES:
        root = tempfile.mkdtemp(prefix="redwell-tests-", dir=MEMORY_DISK)
        os.environ["PYTEST_DEBUG_TEMPROOT"] = root
        config.add_cleanup(lambda: shutil.rmtree(root, ignore_errors=True))


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over the modules and the ten thousand tests that stay to the end."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def process_left_as_it_was(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Undo what tests and commands do to the process they run in: know a passphrase, ask for one, set the umask.

    A passphrase that is left would encrypt the cases of the next tests.
    """
    monkeypatch.delenv(passphrases.VARIABLE, raising=False)
    monkeypatch.setattr(passphrases, "_by_path", {})
    monkeypatch.setattr(passphrases, "_settings", {})
    before = os.umask(0o077)
    os.umask(before)
    yield
    os.umask(before)
    passphrases.ask_with(None)
    upgrade_notice.tell_with(None)
