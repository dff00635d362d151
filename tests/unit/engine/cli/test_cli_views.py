"""What is drawn, without a run."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console, RenderableType

from engine.cli.console import counted, shell_word, shortened, span_text, visible
from engine.cli.ledger_view import notes_view
from engine.cli.results_view import MOST_ROWS, fitted_widths, results_view, show_written, shown_value, wrapped
from engine.cli.watching import PlainWatch, picture
from engine.executor.events import (
    ChainProgress,
    DocumentFailed,
    DocumentRead,
    Event,
    FilesFound,
    ModelCall,
    ModelLoading,
    ModelReady,
    ModelRestarted,
    ModelWorking,
    OperatorFinished,
    OperatorProgress,
    OperatorStarted,
    RunStarted,
    Warned,
)
from engine.executor.run_state import RunState
from engine.operators.base import NOTE
from engine.worker.exports import Written
from storage.export.table import ResultRow, ResultTable
from storage.ledger import DecisionRecord, StoredDecision


def drawn(view: RenderableType, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width, markup=False, highlight=False)
    console.print(view)
    return console.file.getvalue()  # type: ignore[attr-defined]


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def call(
    *, read: int = 100, reused: int = 0, written: int = 10, cached: bool = False, row: str = "r", by: str = "find"
) -> ModelCall:
    return ModelCall(by, row, read, reused, written, 0, 1.0, cached)


def table(rows: int, columns: tuple[str, ...] = ("name",), value: object = "x") -> ResultTable:
    return ResultTable(columns, tuple(ResultRow(str(i), dict.fromkeys(columns, value)) for i in range(rows)))


def test_control_characters_become_visible_signs() -> None:
    assert visible("a\x1b[2J\x00\x7f\x9b\u202eb\n\t") == "a␛[2J␀␡\ufffd\ufffdb\n\t"
    assert visible("half \ud83d of \U0001f600") == "half \ufffd of \U0001f600"


def test_a_terminal_without_a_character_shows_its_number() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "cp1252"}
    code = "from engine.cli import console, main\nmain.app = lambda **_: console.output().print('Łódź')\nmain.run()"
    done = subprocess.run([sys.executable, "-c", code], check=False, env=environment, capture_output=True)
    assert (done.returncode, done.stdout.decode("cp1252").strip()) == (0, r"\u0141ód\u017a")


def test_json_stays_json_where_stdout_lacks_a_character() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "cp1252"}
    name = "Łódź \x81 \U0001f600"
    code = (
        "from engine.cli import console, main, watching\n"
        "from engine.executor.events import ModelLoading\n"
        f"name = {ascii(name)}\n"
        "def say(**_):\n"
        "    console.write_json({'model': name})\n"
        "    watching.write_event(ModelLoading(name))\n"
        "main.app = say\n"
        "main.run()"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, env=environment, capture_output=True)
    lines = [json.loads(line) for line in done.stdout.decode("cp1252").splitlines()]
    assert [line["model"] for line in lines] == [name, name]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.44, "0.4 s"), (9.96, "10 s"), (59.4, "59 s"), (59.6, "1 min 00 s"), (200, "3 min 20 s"), (3900, "1 h 05 min")],
)
def test_durations(seconds: float, text: str) -> None:
    assert span_text(seconds) == text


def test_counts_and_cuts() -> None:
    assert [counted(1, "reply", "replies"), counted(1200, "file")] == ["1 reply", "1,200 files"]
    assert [shortened("abcdef", 4), shortened("abcd", 4)] == ["abc…", "abcd"]


def test_values_are_shown_without_python_or_json_signs() -> None:
    value = {"officer": "Vega", "acts": ["a", "b"], "badge": None, "guilty": True, "n": 2}
    assert shown_value(value) == "officer: Vega, acts: a; b, badge: , guilty: yes, n: 2"


def test_small_columns_get_what_they_want_and_the_others_equal_parts() -> None:
    assert fitted_widths([4, 90, 50], [4, 9, 9], 60) == [4, 25, 25]


def test_columns_without_room_are_left_out_but_the_first_stays() -> None:
    assert len(fitted_widths([50] * 9, [5] * 9, 40)) == 3
    assert fitted_widths([50, 50], [50, 50], 5) == [3]


def test_words_are_kept_whole_where_there_is_room() -> None:
    assert fitted_widths([90, 30], [9, 30], 64)[1] == 30


def test_long_cells_end_in_an_ellipsis() -> None:
    assert wrapped("one two three four five six seven", 9) == "one two\nthree\nfour…"
    assert wrapped("", 9) == ""


def test_the_table_tells_how_many_rows_and_columns_it_leaves_out() -> None:
    many = drawn(results_view(table(MOST_ROWS + 2), 80))
    assert "and 2 rows more" in many
    wide = drawn(results_view(table(1, tuple(f"column_{i}" for i in range(12)), "y" * 40), 80))
    assert "columns without room here: " in wide
    assert "column_11" in wide.splitlines()[-1]
    assert all(len(line) <= 80 for line in wide.splitlines())
    assert "No rows came out." in drawn(results_view(table(0), 80))


def test_no_markup_is_read_in_cells() -> None:
    assert "[bold]x[/bold]" in drawn(results_view(table(1, value="[bold]x[/bold]"), 80))


def state_after(*events: Event, clock: Clock | None = None) -> RunState:
    state = RunState(clock or Clock())
    for event in events:
        state.take(event)
    return state


START = (
    RunStarted("1", "a.redwell", "m", ("find", "keep"), False),
    FilesFound("records", 3),
    DocumentRead("records", "a.pdf", "d", "parsed", 4, 1, 0.1, 1, 3),
    DocumentFailed("records", "b.pdf", "empty", "no bytes", "ask", 2, 3),
    ModelLoading("m"),
)


def test_the_picture_shows_files_operators_and_the_model() -> None:
    text = drawn(picture(state_after(*START), Console(width=80)))
    assert "2/3" in text
    assert "4 pages, 1 by OCR, 1 failed" in text
    assert text.count("waiting") == 2
    assert "loading the model m" in text


def test_the_picture_fits_narrow_screens() -> None:
    ready = ModelReady("a-model-with-a-rather-long-name", 8192, 1.0)
    events = (*START, ready, call(), OperatorStarted("find", "map"), OperatorProgress("find", 1, 9))
    text = drawn(picture(state_after(*events), Console(width=40)), 40)
    assert all(len(line) <= 40 for line in text.splitlines())


def test_time_left_follows_the_pace() -> None:
    clock = Clock()
    state = state_after(*START, OperatorStarted("find", "map"), OperatorProgress("find", 0, 40), clock=clock)
    assert state.operators["find"].seconds_left(clock.now) is None
    clock.now += 10
    state.take(OperatorProgress("find", 20, 40))
    assert state.operators["find"].seconds_left(clock.now) == pytest.approx(10)  # 2 a second, 20 to go
    assert "about 10 s left" in drawn(picture(state, Console(width=80)))


def test_a_burst_of_cached_replies_is_forgotten_after_a_minute() -> None:
    clock = Clock()
    state = state_after(OperatorStarted("find", "map"), OperatorProgress("find", 0, 1000), clock=clock)
    clock.now += 1
    state.take(OperatorProgress("find", 900, 1000))
    for _ in range(10):
        clock.now += 10
        state.take(OperatorProgress("find", state.operators["find"].done + 1, 1000))
    assert state.operators["find"].seconds_left(clock.now) == pytest.approx(900)  # 0.1 a second, 90 to go


CHAIN = ("find", "keep")


def test_time_left_of_a_chain_follows_the_size_of_its_rows() -> None:
    clock = Clock()
    state = state_after(*START, OperatorStarted("find", "map"), ChainProgress(CHAIN, 0, 10, 0, 40_000), clock=clock)
    assert (state.seconds_left(), state.share_done()) == (None, 0.0)
    clock.now += 2
    state.take(ChainProgress(CHAIN, 1, 10, 3_000, 40_000))
    clock.now += 3
    assert state.seconds_left() is None  # less than a tenth is done
    clock.now += 5
    state.take(ChainProgress(CHAIN, 2, 10, 8_000, 40_000))
    assert state.seconds_left() == pytest.approx(40)  # 800 characters a second, 32,000 to go; by rows it were 90
    assert state.share_done() == pytest.approx(0.2)
    state.take(OperatorFinished("find", 10, 10, 0, 0))
    assert state.operator_seconds_left(state.operators["find"]) is None
    assert state.share_done() == pytest.approx(0.6)  # one of two operators is done, the other to a fifth


def test_time_left_counts_what_is_read_of_rows_that_have_not_passed() -> None:
    """Fourteen rows of 4,000 characters: 400 of these are read a second, then 14 replies are written in 60 seconds."""
    clock = Clock()
    clock.now = 0
    state = state_after(*START, ChainProgress(CHAIN, 0, 14, 0, 14 * 5_000), clock=clock)
    for seconds in range(1, 71):
        clock.now = seconds
        state.take(ModelWorking("m", read=100 * seconds, written=0))
    assert state.share_done() == pytest.approx(0.4)  # 7,000 tokens of 4 characters, of 70,000 with the replies
    assert state.seconds_left() == pytest.approx(105)  # 42,000 at 400 a second; in truth 70 + 60
    for seconds in range(71, 141):
        clock.now = seconds
        state.take(ModelWorking("m", read=100 * seconds, written=0))
    state.take(ModelWorking("m", read=20_000, written=0))  # with the words of the prompts
    assert state.share_done() == pytest.approx(0.8)  # all texts are read, no reply is written
    clock.now = 170
    state.take(ModelWorking("m", read=14_000, written=700))
    assert state.share_done() == pytest.approx(0.9)
    assert 15 < (state.seconds_left() or 0) < 30
    clock.now = 200
    for row in range(1, 14):
        state.take(call(read=1_000, reused=0, written=100))
        state.take(ChainProgress(CHAIN, row, 14, row * 5_000, 14 * 5_000))
    assert state.share_done() == pytest.approx(13 / 14 + 1_000 * 4 / 70_000)  # one is still being written
    state.take(ModelRestarted("m", "it was killed", ""))
    assert state.share_done() == pytest.approx(13 / 14)


def test_time_left_counts_that_the_next_operator_reads_the_texts_again() -> None:
    """Fourteen rows of 4,000 characters that each of two operators reads, 100 tokens of 4 characters a second."""
    clock = Clock()
    clock.now = 0
    state = state_after(*START, ChainProgress(CHAIN, 0, 14, 0, 14 * 5_000, readings=2), clock=clock)
    for seconds in range(1, 71):
        clock.now = seconds
        state.take(ModelWorking("m", read=100 * seconds, written=0))
    assert state.share_done() == pytest.approx(0.2)  # a quarter of the reading, no reply
    assert state.seconds_left() == pytest.approx(280)  # in truth 210 of reading, and the replies
    for row in range(1, 8):
        for by in CHAIN:
            state.take(call(read=1_000, reused=0, written=100, row=f"{row}", by=by))
        state.take(ChainProgress(CHAIN, row, 14, row * 5_000, 14 * 5_000, (f"{row}",), readings=2))
    state.take(ModelWorking("m", read=1_000, written=0))
    assert state.share_done() == pytest.approx((7 * 5_000 + 2_000) / 70_000)  # the eighth text is read once


def test_parts_of_a_long_text_count_before_its_row_passes() -> None:
    """A text of 40,000 characters in ten parts, one part in ten seconds; beside it two rows of 4,000 characters."""
    clock = Clock()
    clock.now = 0
    state = state_after(*START, ChainProgress(CHAIN, 0, 3, 0, 51_000), clock=clock)
    for part in range(1, 6):
        clock.now = 10 * part
        state.take(call(read=1_000, written=0, row="long"))
        state.take(ModelWorking("m", read=0, written=0))
    assert state.share_done() == pytest.approx(20_000 / 51_000)
    assert state.seconds_left() == pytest.approx(31_000 * 40 / 16_000)  # since the first part 400 characters a second
    state.take(call(read=1_000, written=0, row="short"))
    state.take(ChainProgress(CHAIN, 1, 3, 5_000, 51_000, ("short",)))
    assert state.share_done() == pytest.approx(25_000 / 51_000)
    for part in range(5):
        state.take(call(read=1_000, written=0, row="long", cached=part < 3))  # an earlier run had answered three
    assert state.share_done() == pytest.approx(45_000 / 51_000)
    state.take(ChainProgress(CHAIN, 2, 3, 46_000, 51_000, ("long",)))
    assert state.share_done() == pytest.approx(46_000 / 51_000)


def test_a_long_text_counts_again_when_the_next_operator_reads_it() -> None:
    """A text of 40,000 characters that each of two operators reads in ten parts, one part in ten seconds."""
    clock = Clock()
    clock.now = 0
    state = state_after(*START, ChainProgress(CHAIN, 0, 1, 0, 41_000), clock=clock)
    for part in range(1, 16):
        clock.now = 10 * part
        by, row = ("find", "long") if part <= 10 else ("keep", "made of it")
        state.take(call(read=1_000, written=0, row=row, by=by))
        state.take(ModelWorking("m", read=0, written=0))
    assert state.share_done() == pytest.approx(30_000 / 41_000)  # read once and a half
    assert state.seconds_left() == pytest.approx(55)  # 2,000 of them in ten seconds, 11,000 to go
    state.take(ChainProgress(CHAIN, 1, 1, 41_000, 41_000, ("long", "made of it")))
    assert (state.share_done(), state.seconds_left()) == (1.0, None)


def test_a_long_text_counts_again_when_an_operator_asks_its_next_question_about_it() -> None:
    clock = Clock()
    state = state_after(*START, ChainProgress(CHAIN, 0, 1, 0, 41_000), clock=clock)
    for _ in range(18):
        clock.now += 10
        state.take(call(read=1_000, written=0, row="long"))
        state.take(ModelWorking("m", read=0, written=0))
    assert state.share_done() == pytest.approx(36_000 / 41_000)
    assert state.seconds_left() == pytest.approx(25)


def test_parts_that_an_earlier_run_answered_count_as_done_and_not_as_pace() -> None:
    clock = Clock()
    state = state_after(*START, ChainProgress(CHAIN, 0, 1, 0, 41_000), clock=clock)
    for _ in range(5):
        clock.now += 1
        state.take(call(read=1_000, written=0, row="long", cached=True))
    assert state.share_done() == pytest.approx(20_000 / 41_000)
    assert state.seconds_left() is None
    clock.now += 20
    state.take(ModelWorking("m", read=1_000, written=0))
    assert state.seconds_left() == pytest.approx(85)  # 4,000 characters in 20 seconds, 17,000 to go


def test_replies_of_an_earlier_run_do_not_count_as_pace() -> None:
    clock = Clock()
    state = state_after(OperatorStarted("find", "map"), ChainProgress(CHAIN, 0, 10, 0, 50_000), clock=clock)
    for row in (1, 2, 3, 4):
        state.take(call(cached=True))
        state.take(ChainProgress(CHAIN, row, 10, row * 5_000, 50_000))
    assert state.seconds_left() is None
    clock.now += 20
    state.take(call())
    state.take(ChainProgress(CHAIN, 5, 10, 25_000, 50_000))
    assert state.seconds_left() == pytest.approx(100)  # 5,000 in 20 seconds, 25,000 to go


def test_speed_counts_only_calls_that_were_made_lately() -> None:
    clock = Clock()
    state = state_after(call(read=300, reused=60, written=30), call(cached=True), clock=clock)
    assert state.calls.speeds(clock.now) == (8.0, 1.0)  # 240 and 30 tokens over 30 seconds
    assert (state.calls.made, state.calls.from_cache) == (1, 1)
    clock.now += 31
    assert state.calls.speeds(clock.now) == (0.0, 0.0)
    state.take(ModelWorking("m", read=600, written=60))  # what is in progress counts, too
    assert state.calls.speeds(clock.now) == (20.0, 2.0)
    state.take(call(read=600, reused=0, written=60))
    assert state.calls.speeds(clock.now) == (20.0, 2.0)


def test_a_path_in_a_command_is_never_taken_for_an_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert shell_word(tmp_path / "-a b.redwell") == "'./-a b.redwell'"
    assert shell_word(tmp_path / "a.redwell") == "a.redwell"


def test_a_log_gets_lines_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    watch = PlainWatch(RunState(clock))
    for event in (*START, Warned("p.yaml:1:2: warning: odd"), OperatorStarted("find", "map")):
        watch.take(event)
    for done in range(1, 31):
        clock.now += 1
        watch.take(OperatorProgress("find", done, 40))
    watch.take(ModelRestarted("tiny", "it was killed (SIGKILL)", "with the same settings"))
    watch.take(OperatorFinished("find", 3, 2, 1, 0))
    lines = capsys.readouterr().err.splitlines()
    assert "failed: b.pdf: no bytes" in lines
    assert "warning: p.yaml:1:2: odd" in lines
    assert sum("find 15/40" in line or "find 30/40" in line for line in lines) == 2
    assert "the process of tiny starts again with the same settings: it was killed (SIGKILL)" in lines
    assert lines[-1] == "find: 3 rows in, 2 out, 1 left out"


def read_file(done: int, status: str) -> Event:
    return DocumentRead("records", f"{done}.pdf", str(done), status, 1, 0, 0.1, done, 500)


def test_the_time_left_for_reading_is_told_from_the_files_read_in_this_run(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    watch = PlainWatch(RunState(clock))
    watch.take(FilesFound("records", 500))
    for done in range(1, 101):
        clock.now += 0.01
        watch.take(read_file(done, "known"))
    for done in range(101, 121):
        clock.now += 3.0
        watch.take(read_file(done, "parsed"))
    assert watch.state.reading_seconds_left() == pytest.approx(380 * 3.0)
    assert "records 105/500 (about 19 min 45 s left for reading)" in capsys.readouterr().err
    for done in range(121, 501):
        watch.take(read_file(done, "parsed"))
    assert watch.state.reading_seconds_left() is None


def test_notes_about_rows_are_summed_up_by_operator() -> None:
    notes = [
        StoredDecision("list", DecisionRecord(NOTE, row, "", "cut", "too_long: head", f"text: {row} characters shown"))
        for row in ("r1", "r2", "r3")
    ]
    other = StoredDecision("same", DecisionRecord("officer", "A", "B", "same", "model"))
    view = notes_view([other, *notes])
    assert view is not None
    assert " ".join(drawn(view).split()) == (
        "3 rows cut to fit by list (too_long: head), the first: text: r1 characters shown"
    )
    assert notes_view([other]) is None


@pytest.mark.parametrize(
    ("verdict", "said"),
    [("ship", "answered by"), ("widen", "read further by"), ("conflict", "with contradictory values by")],
)
def test_what_befell_an_answer_is_told_in_words(verdict: str, said: str) -> None:
    view = notes_view([StoredDecision("ask", DecisionRecord(NOTE, "r1", "", verdict, "fee, round 1", "lines 1-3"))])
    assert view is not None
    assert " ".join(drawn(view).split()) == f"1 row {said} ask (fee, round 1), the first: lines 1-3"


def test_a_note_about_a_record_cannot_rewrite_the_screen(capsys: pytest.CaptureFixture[str]) -> None:
    show_written([Written(Path("a.pdf"), 1, ("\x1b[2Jmemo.txt, page 1, was not drawn",))])
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["Written a.pdf, 1 row", "        ␛[2Jmemo.txt, page 1, was not drawn"]


def test_a_date_is_shown_as_it_was_read_and_written() -> None:
    date = {"iso": "2022-09-30", "original": "September 30, 2022", "problem": ""}
    assert shown_value(date) == "2022-09-30 (September 30, 2022)"
    assert shown_value([date, date]) == "2022-09-30 (September 30, 2022); 2022-09-30 (September 30, 2022)"
    assert shown_value({"when": date, "who": "Roe"}) == "when: 2022-09-30 (September 30, 2022), who: Roe"
