"""What encryption of a case costs: opening, a run's writes, reading, the size; plain and encrypted in turn.

`redwell bench encryption`, some seconds. REDWELL_ENCRYPTION_PAGES (2000) changes the size.
"""

from __future__ import annotations

import hashlib
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from engine.executor.case_documents import save_document
from storage import passphrases
from storage.case import Case
from storage.conversion import decrypt_case, encrypt_case
from storage.encryption import forget_keys
from tests.bench.bench_growth import PAGES_PER_DOCUMENT, synthetic

PAGES = int(os.environ.get("REDWELL_ENCRYPTION_PAGES", "2000"))
REPLIES = 1000
ROUNDS = 5
PASSPHRASE = "correct horse battery"


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def save_documents(case: Case) -> None:
    for number in range(PAGES // PAGES_PER_DOCUMENT):
        save_document(case, synthetic(number))


def save_replies(case: Case) -> None:
    """Keep replies as a run does, each in a transaction of its own."""
    run = case.runs.start(pipeline_yaml="", pipeline_digest="", model_name="")
    for number in range(REPLIES):
        key = hashlib.sha256(f"{run} {number}".encode()).hexdigest()
        case.replies.save(key, {"value": {"officer": "Dana Reyes"}, "text": "x" * 900}, "map", run)


def measure(path: Path) -> dict[str, float]:
    """Measure one case; times in seconds."""
    found = {}
    with Case(path) as case:
        found[f"{PAGES:,} pages saved"] = timed(lambda: save_documents(case))
        found[f"{REPLIES:,} replies saved one by one"] = timed(lambda: save_replies(case))
        found["a search"] = timed(lambda: case.search.find("pipeline operator", limit=20))
    forget_keys()
    found["opened, the first time in a process"] = timed(lambda: Case(path, read_only=True).close())
    found["opened again"] = timed(lambda: Case(path, read_only=True).close())
    found["size in MB"] = path.stat().st_size / 1e6
    return found


def test_what_encryption_costs(tmp_path: Path) -> None:
    """Print the medians of several rounds, plain and encrypted in turn."""
    plain: list[dict[str, float]] = []
    encrypted: list[dict[str, float]] = []
    for turn in range(ROUNDS):
        plain.append(measure(tmp_path / f"plain{turn}.redwell"))
        path = tmp_path / f"encrypted{turn}.redwell"
        passphrases.remember(path, PASSPHRASE)
        encrypted.append(measure(path))
    print("\n| | plain | encrypted | x |\n|---|---|---|---|")
    for name in plain[0]:
        before, after = (statistics.median(each[name] for each in found) for found in (plain, encrypted))
        unit, scale = ("MB", 1) if name == "size in MB" else ("ms", 1000)
        print(f"| {name} | {before * scale:,.1f} {unit} | {after * scale:,.1f} {unit} | {after / before:.2f} |")
    path = tmp_path / "plain0.redwell"
    there, back = timed(lambda: encrypt_case(path, PASSPHRASE)), timed(lambda: decrypt_case(path, PASSPHRASE))
    print(f"encrypting {path.stat().st_size / 1e6:.0f} MB took {there:.1f} s, decrypting {back:.1f} s")
