"""Prefixes on disk: what is read back is what was kept, damaged files are not used, the room is bounded."""

from __future__ import annotations

import stat
from pathlib import Path

import numpy as np
import pytest

from models.prefix_cache import WORTH_LOADING_TOKENS, PrefixCache
from models.prefix_store import PrefixStore
from models.scheduler import Scheduler
from tests.unit.models.test_scheduler import Bench, HistoryEvaluator, expected_reply

STATE = b"state of "


class StatefulEvaluator(HistoryEvaluator):
    """Gives the tokens of a sequence as its state."""

    refuses = False

    def sequence_state(self, sequence: int) -> bytes:
        return STATE + np.asarray([token for token, _ in self.sequences[sequence]], np.int32).tobytes()

    def restore_sequence(self, sequence: int, state: bytes) -> bool:
        assert not self.sequences.get(sequence)
        assert state.startswith(STATE)
        if self.refuses:
            return False
        tokens = np.frombuffer(state[len(STATE) :], np.int32)
        self.sequences[sequence] = [(int(t), self.next_cell + i) for i, t in enumerate(tokens)]
        self.next_cell += tokens.size
        return True


def document(start: int = 2, size: int = 600) -> list[int]:
    return [2 + (start + i * i // 5) % 14 for i in range(size)]


def bench(folder: Path, most_bytes: int = 10**9, slots: int = 4) -> tuple[Bench, StatefulEvaluator]:
    made = Bench(cells=2000, slots=slots)
    evaluator = StatefulEvaluator(2000)
    store = PrefixStore(folder, evaluator, identity="model", most_bytes=most_bytes)
    made.evaluator = evaluator
    made.scheduler = Scheduler(evaluator, cells=2000, slots=slots, running=2, batch_tokens=64, shelf=store)
    return made, evaluator


def ask(made: Bench, prompt: list[int], shared: int) -> int:
    """Return how many tokens of the prompt need not be read."""
    job = made.job(prompt, 3)
    job.shared_tokens = shared
    made.submit(job)
    made.run()
    assert made.outcomes[-1].error is None
    assert job.reply == expected_reply(prompt, 3)
    return job.reused


def test_a_document_read_in_another_process_is_read_back(tmp_path: Path) -> None:
    text = document()
    first, _ = bench(tmp_path)
    ask(first, [*text, 3, 4], len(text))
    first.scheduler.shelve()
    second, evaluator = bench(tmp_path)
    assert ask(second, [*text, 5, 6, 7], len(text)) == len(text)
    # The question, two of the reply's three tokens, and guesses.
    assert evaluator.evaluated == 3 + 2 + second.scheduler.counters.drafted - second.scheduler.counters.accepted


def test_only_what_is_marked_as_shared_is_kept_and_once(tmp_path: Path) -> None:
    text = document()
    made, _ = bench(tmp_path, slots=2)
    ask(made, [*text, 3, 4], len(text))
    ask(made, [*document(5), 3, 4], 0)  # takes the second slot
    for n in range(4):
        ask(made, [*text, 9, n + 2], len(text))
    made.scheduler.shelve()
    files = list(tmp_path.rglob("*.prefix"))
    assert [f.stat().st_size for f in files] == [56 + 2 * 4 * len(text) + len(STATE)]


def test_short_prefixes_are_not_kept(tmp_path: Path) -> None:
    made, _ = bench(tmp_path)
    ask(made, document(size=WORTH_LOADING_TOKENS + 2), WORTH_LOADING_TOKENS - 1)
    made.scheduler.shelve()
    assert not list(tmp_path.rglob("*.prefix"))


def test_files_and_folder_are_the_owners_alone(tmp_path: Path) -> None:
    made, _ = bench(tmp_path / "kept")
    ask(made, [*document(), 3], 600)
    made.scheduler.shelve()
    (file,) = tmp_path.rglob("*.prefix")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("damage", ["cut", "changed", "empty", "gone"])
def test_a_damaged_file_is_not_used(tmp_path: Path, damage: str) -> None:
    text = document()
    first, _ = bench(tmp_path)
    ask(first, [*text, 3, 4], len(text))
    first.scheduler.shelve()
    (file,) = tmp_path.rglob("*.prefix")
    second, _ = bench(tmp_path)  # it has seen the file whole
    content = file.read_bytes()
    match damage:
        case "cut":
            file.write_bytes(content[:-1])
        case "changed":
            file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        case "empty":
            file.write_bytes(b"")
        case "gone":
            file.unlink()
    assert ask(second, [*text, 5, 6], len(text)) == 0
    assert not file.exists()
    third, _ = bench(tmp_path)
    ask(third, [*text, 5, 6], len(text))


def test_a_file_that_goes_while_it_is_read_back_does_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = document()
    first, _ = bench(tmp_path)
    ask(first, [*text, 3, 4], len(text))
    first.scheduler.shelve()
    (file,) = tmp_path.rglob("*.prefix")
    second, evaluator = bench(tmp_path)
    restore = evaluator.restore_sequence

    def restore_and_remove(sequence: int, state: bytes) -> bool:
        file.unlink()  # as another process does that needs the room
        return restore(sequence, state)

    monkeypatch.setattr(evaluator, "restore_sequence", restore_and_remove)
    assert ask(second, [*text, 5, 6, 7], len(text)) == len(text)


def test_files_that_are_not_whole_go_at_the_start(tmp_path: Path) -> None:
    first, _ = bench(tmp_path)
    ask(first, [*document(), 3, 4], 600)
    first.scheduler.shelve()
    (file,) = tmp_path.rglob("*.prefix")
    file.with_suffix(".part").write_bytes(b"half")
    for content in (b"", b"RWPREFX1", file.read_bytes()[:-4], b"x" * 500):
        file.write_bytes(content)
        bench(tmp_path)
        assert not list(tmp_path.rglob("*.p*"))


def test_a_state_that_the_runtime_refuses_is_read_anew(tmp_path: Path) -> None:
    text = document()
    first, _ = bench(tmp_path)
    ask(first, [*text, 3, 4], len(text))
    first.scheduler.shelve()
    second, evaluator = bench(tmp_path)
    evaluator.refuses = True
    assert ask(second, [*text, 5, 6], len(text)) == 0


def test_the_least_recently_used_go_when_the_room_is_full(tmp_path: Path) -> None:
    size = 56 + 2 * 4 * 600 + len(STATE)
    evaluator = StatefulEvaluator(9000)
    store = PrefixStore(tmp_path, evaluator, identity="model", most_bytes=2 * size)
    texts = [np.asarray(document(start), np.int32) for start in (1, 3, 6)]
    for number, tokens in enumerate(texts):
        evaluator.sequences[number] = [(int(t), i) for i, t in enumerate(tokens)]
        store.save(number, tokens)
        for kept in store._kept:
            kept.last_used = float(np.flatnonzero([np.array_equal(kept.tokens, t) for t in texts])[0])
    assert [store.longest(t, 9000) == 600 for t in texts] == [False, True, True]
    assert store.bytes == 2 * size
    store.save(0, np.asarray(document(2, 90_000), np.int32))  # larger than all the room
    assert store.bytes == 2 * size


def test_another_model_finds_nothing(tmp_path: Path) -> None:
    evaluator = StatefulEvaluator(2000)
    tokens = np.asarray(document(), np.int32)
    evaluator.sequences[0] = [(int(t), i) for i, t in enumerate(tokens)]
    PrefixStore(tmp_path, evaluator, identity="one", most_bytes=10**9).save(0, tokens)
    assert PrefixStore(tmp_path, evaluator, identity="other", most_bytes=10**9).longest(tokens, 2000) == 0
    assert PrefixStore(tmp_path, evaluator, identity="one", most_bytes=10**9).longest(tokens, 599) == 0


def test_a_cache_without_a_shelf_fetches_nothing() -> None:
    cache = PrefixCache(HistoryEvaluator(100), slots=2, cells=100)
    assert cache.fetch(cache.table.slots[0], np.arange(50, dtype=np.int32)) == 0
