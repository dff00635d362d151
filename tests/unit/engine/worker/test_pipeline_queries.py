"""What the place Question asks of the worker, on a small case with a scripted model."""

from __future__ import annotations

import asyncio
import io
import json
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pymupdf
import pytest
from case_counts import count_replies
from scripted_cases import make_folder
from scripted_model import ScriptedBackend
from scripted_redwell import ScriptedModels, answer

from engine.ask.pipeline import pipeline_text
from engine.ask.proposal import Column, Proposal
from engine.custody.recording import remove_documents
from engine.documents.options import ParseOptions
from engine.errors import OutsideBorders, UsageError
from engine.executor.case_documents import load_document
from engine.executor.sources import ingest
from engine.rows import DocumentId
from engine.templates import template
from engine.worker.allowed import allowed_in
from engine.worker.commands import TryCommand
from engine.worker.queries.ask import draft_table
from engine.worker.queries.desk import Desk
from engine.worker.queries.pipelines import estimate
from engine.worker.queries.registry import arguments, find_query
from engine.worker.session import Session
from engine.worker.trials import read_item, try_pipeline
from storage import passphrases
from storage.case import Case
from storage.conversion import encrypt_case, is_encrypted
from storage.documents import LineRecord
from storage.errors import CaseEncrypted
from storage.ledger import DocumentRecord

EMPTY = template("empty").text
SUM_UP = """  - {name: sum, type: reduce, reduce_key: kind, prompt: "All {{ inputs }}", output: {schema: {all: string}}}
"""


@pytest.fixture
def case(tmp_path: Path) -> Path:
    make_folder(tmp_path)
    path = tmp_path / "sample.redwell"
    with Case(path) as made:
        work = ingest(tmp_path / "records", made, lambda event: None, dataset="r", options=ParseOptions(), workers=1)
        asyncio.run(work)
    return path


@pytest.fixture
def ask(tmp_path: Path, case: Path) -> Callable[..., Any]:
    desk = Desk(tmp_path, lambda event: None, ScriptedModels)

    def answer(name: str, /, **given: Any) -> Any:
        found = find_query(name)
        return found.ask(desk, arguments(found, json.loads(json.dumps(given))))

    return answer


def test_a_change_of_a_card_gives_the_text_and_the_cards(ask: Callable[..., Any]) -> None:
    found = ask("pipelines.change", text=EMPTY, change={"do": "set", "operator": 0, "key": ["max_tokens"], "value": 9})
    assert "    max_tokens: 9\n" in found.text
    assert found.outline.cards[0].values["max_tokens"] == 9
    refused = ask("pipelines.change", text=EMPTY, change={"do": "rename", "operator": 0, "name": " "})
    assert (refused.text, refused.note[:12]) == (EMPTY, "the name ' '")
    assert ask("pipelines.read", text="a: [").outline.problem.line == 1
    odd = ask("pipelines.read", text="operations: [{name: a, type: map, limits: [.inf]}]\n")
    assert odd.outline.cards[0].written == {"limits": "[.inf]"}


def test_problems_name_their_operator_key_and_line(ask: Callable[..., Any], tmp_path: Path) -> None:
    text = EMPTY.replace("input.text }}", "input.txt }}")
    found = ask("pipelines.check", text=text, directory=str(tmp_path))
    [problem] = found.problems
    lines = text.split("\n")
    assert (problem.operator, problem.key, problem.severity) == ("read", "prompt", "error")
    assert "input.txt" in lines[problem.line - 1]
    assert found.fields["read"][:1] == ("filename",)
    wrong = ask("pipelines.check", text=EMPTY.replace("type: map", "type: mop"), directory=str(tmp_path)).problems
    assert wrong[0].operator == "read"
    assert "unknown operator type 'mop'" in wrong[0].message


def test_the_estimate_counts_the_documents_of_the_case(ask: Callable[..., Any], case: Path) -> None:
    found = ask("pipelines.estimate", text=EMPTY, directory=str(case.parent), case=str(case))
    assert found.calls == 3
    assert found.prompt_tokens > 0


def test_forms_have_every_key_and_basic_ones_first(ask: Callable[..., Any]) -> None:
    forms = {one.kind: one.form for one in ask("pipelines.operators")}
    keys = [".".join(key.path) for key in forms["map"].keys]
    assert keys[:3] == ["prompt", "output.schema", "drop_keys"]
    assert {"gleaning.num_rounds", "output.n", "model", "too_long"} <= set(keys)
    by_name = {".".join(key.path): key for key in forms["split"].keys}
    assert by_name["method_kwargs.num_tokens"].editor == "integer"


def test_files_lie_beside_the_case_and_are_not_overwritten_unseen(ask: Callable[..., Any], case: Path) -> None:
    path = case.parent / "sample questions" / "Who.yaml"
    saved = ask("pipelines.save", path=str(path), text=EMPTY)
    assert path.read_text(encoding="utf-8") == EMPTY
    assert [file.name for file in ask("pipelines.list", case=str(case))] == ["Who"]
    with pytest.raises(Exception, match="is there already"):
        ask("pipelines.save", path=str(path), text="other")
    again = ask("pipelines.save", path=str(path), text="other", before=saved.digest)
    path.write_text("by somebody else", encoding="utf-8")
    with pytest.raises(Exception, match="changed by another program"):
        ask("pipelines.save", path=str(path), text="more", before=again.digest)
    renamed = ask("pipelines.rename", path=str(path), name="What")
    assert (renamed.name, renamed.text) == ("What", "by somebody else")
    with pytest.raises(Exception, match="cannot be the name"):
        ask("pipelines.rename", path=renamed.path, name="../x")


def test_a_text_is_kept_beside_a_file_that_others_changed(ask: Callable[..., Any], case: Path) -> None:
    path = case.parent / "sample questions" / "Who.yaml"
    saved = ask("pipelines.save", path=str(path), text="first", beside=True)
    assert ask("pipelines.save", path=str(path), text="second", before=saved.digest, beside=True).name == "Who"
    for name in ("Who (2)", "Who (3)"):
        assert ask("pipelines.save", path=str(path), text="third", before=saved.digest, beside=True).name == name
    assert ask("pipelines.save", path=str(path), text="second", before=saved.digest, beside=True).name == "Who"
    assert path.read_text(encoding="utf-8") == "second"
    assert path.with_stem("Who (3)").read_text(encoding="utf-8") == "third"


def test_a_file_that_is_too_long_for_a_pipeline_is_neither_opened_in_part_nor_cut(
    ask: Callable[..., Any], case: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.worker.queries.pipeline_files.MAX_CHARACTERS", len(EMPTY))
    path = case.parent / "sample questions" / "Who.yaml"
    saved = ask("pipelines.save", path=str(path), text=EMPTY)
    assert ask("pipelines.open", path=str(path)).text == EMPTY
    path.write_text(EMPTY + "# more", encoding="utf-8")
    with pytest.raises(UsageError, match="has more than"):
        ask("pipelines.open", path=str(path))
    with pytest.raises(UsageError, match="changed by another program"):
        ask("pipelines.save", path=str(path), text="other", before=saved.digest)
    assert path.read_text(encoding="utf-8") == EMPTY + "# more"


def run_trial(case: Path, kept: Path, **given: Any) -> Any:
    order = TryCommand(case=case, **given)
    work = try_pipeline(order, order.settings, kept, ScriptedModels, lambda event: None, lambda backend: backend)
    return asyncio.run(work)


def item_of(tried: Any, number: int) -> dict[str, Any]:
    with Case(Path(tried.case), read_only=True) as kept:
        return read_item(kept.cache, number)


def test_a_trial_leaves_replies_and_no_run(case: Path, tmp_path: Path) -> None:
    text = template("officers").text
    first = run_trial(case, tmp_path / "one", text=text, until="list_officers")
    assert (first.calls, first.from_case, len(first.documents)) == (3, 0, 3)
    assert [(line.operator, line.calls) for line in first.items] == [("cut", 0)] * 3 + [("list_officers", 1)] * 3
    item = item_of(first, 3)
    [call] = item["calls"]
    assert "List every police officer who, according to the file, committed misconduct" in call["prompt"][-1][1]
    # the scripted model writes this name into every field
    listed = [{"officer": "Sgt. Varrick", "act": "Sgt. Varrick", "date": "Sgt. Varrick"}]
    assert json.loads(call["reply"]) == {"misconducts": listed}
    [row] = item["rows"]
    assert row["values"]["misconducts"] == listed
    # alpha and gamma name him in their second line, beta in its third
    assert {place["line"] for place in row["places"]} <= {2, 3} and row["places"]
    with Case(case, read_only=True) as opened:
        assert opened.runs.all() == []
        assert count_replies(opened) == 3
    again = run_trial(case, tmp_path / "two", text=text)
    assert again.from_case >= 3
    # all three name the same officer, so that one row is left
    assert [(line.operator, line.fate) for line in again.items if line.operator == "table"] == [("table", "output")]


def test_a_trial_takes_the_chosen_documents(case: Path, tmp_path: Path) -> None:
    with Case(case, read_only=True) as opened:
        chosen = next(entry.id for entry in opened.documents.entries() if entry.filename == "beta.txt")
    tried = run_trial(case, tmp_path / "trial", text=EMPTY, documents=(chosen,))
    assert tried.documents == ("beta.txt",)
    assert [(line.name, line.fate) for line in tried.items] == [("beta.txt", "output")]


def test_a_trial_leaves_documents_out_that_were_removed(case: Path, tmp_path: Path) -> None:
    with Case(case) as opened:
        ids = {entry.filename: entry.id for entry in opened.documents.entries()}
        remove_documents(opened, [ids["alpha.txt"]])
    assert sorted(run_trial(case, tmp_path / "first", text=EMPTY).documents) == ["beta.txt", "gamma.txt"]
    chosen = (ids["alpha.txt"], ids["beta.txt"])
    assert run_trial(case, tmp_path / "both", text=EMPTY, documents=chosen).documents == ("beta.txt",)
    with pytest.raises(UsageError, match="none of the documents that were chosen"):
        run_trial(case, tmp_path / "none", text=EMPTY, documents=chosen[:1])


def test_a_trial_of_an_encrypted_case_lies_nowhere_in_plain_text(case: Path, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    encrypt_case(case, "correct horse battery")
    try:
        tried = run_trial(case, scratch / "trial.redwell", text=EMPTY)
        (call,) = item_of(tried, 0)["calls"]
        assert "Varrick" in call["prompt"][-1][1]
        assert is_encrypted(Path(tried.case))
        assert not [file for file in scratch.rglob("*") if file.is_file() and b"Varrick" in file.read_bytes()]
        passphrases.forget(case)
        passphrases.forget(Path(tried.case))
        with pytest.raises(CaseEncrypted):
            item_of(tried, 0)
    finally:
        passphrases.forget_all()


def test_an_item_of_a_trial_that_is_gone_says_so(ask: Callable[..., Any], case: Path, tmp_path: Path) -> None:
    tried = run_trial(case, tmp_path / "trial.redwell", text=EMPTY)
    assert ask("pipelines.tried", trial=tried.case, item=0)["name"] == "alpha.txt"
    with pytest.raises(UsageError, match="has no item 3"):
        ask("pipelines.tried", trial=tried.case, item=3)
    Path(tried.case).unlink()
    with pytest.raises(UsageError, match="not kept any more"):
        ask("pipelines.tried", trial=tried.case, item=0)


def test_a_trial_without_documents_says_so(tmp_path: Path) -> None:
    with Case(tmp_path / "empty.redwell"):
        pass
    with pytest.raises(UsageError, match=r"the case .*empty\.redwell holds no documents"):
        run_trial(tmp_path / "empty.redwell", tmp_path / "trial", text=EMPTY)


def test_a_trial_tells_how_many_rows_came_of_one_though_it_shows_some(
    case: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = """
datasets: {records: {type: case}}
operations: [{name: cut, type: split, split_key: text, method: delimiter, method_kwargs: {delimiter: "\\n"}}]
pipeline: {steps: [{name: s, input: records, operations: [cut]}]}
"""
    whole = run_trial(case, tmp_path / "whole", text=text)
    monkeypatch.setattr("engine.worker.trial_items.MOST_ROWS", 1)
    some = run_trial(case, tmp_path / "some", text=text)
    assert [line.rows for line in some.items] == [line.rows for line in whole.items]
    assert all(line.rows >= 3 for line in some.items)
    assert len(item_of(some, 0)["rows"]) == 1


@pytest.mark.parametrize("how", ["", "yaml", "option"])
def test_a_trial_shows_hidden_lines_where_the_run_would(case: Path, tmp_path: Path, how: str) -> None:
    file = tmp_path / "records" / "report.pdf"
    with pymupdf.open() as pdf:
        page = pdf.new_page(width=400, height=400)
        for y, line, color in ((60, "First line", 0), (80, "John Smith", 1), (100, "Mary Jones", 0)):
            page.insert_text((40, y), line, fontsize=11, color=(color,) * 3)
        pdf.save(file)
    with Case(case) as opened:
        options = ParseOptions(ocr="never")
        asyncio.run(ingest(file, opened, lambda event: None, dataset="r", options=options, workers=1))
        chosen = next(entry.id for entry in opened.documents.entries() if entry.filename == file.name)
    text = EMPTY.replace("{type: case}", "{type: case, include_hidden: true}") if how == "yaml" else EMPTY
    tried = run_trial(case, tmp_path / "trial", text=text, documents=(chosen,), include_hidden=how == "option")
    [call] = item_of(tried, 0)["calls"]
    assert "Mary Jones" in call["prompt"][-1][1]
    assert ("John Smith" in call["prompt"][-1][1]) == bool(how)


def test_a_trial_ends_with_the_last_operator_though_a_step_after_it_has_none(case: Path, tmp_path: Path) -> None:
    text = EMPTY.rstrip() + "\n    - {name: same, input: results, operations: []}\n"
    tried = run_trial(case, tmp_path / "trial", text=text)
    assert (tried.until, len(tried.items)) == ("read", 3)


def test_of_a_long_document_a_trial_reads_the_parts_that_fit_the_question(case: Path, tmp_path: Path) -> None:
    filler = "The weather was mild and the road was dry on that day.\n" * 60
    long = tmp_path / "records" / "long.txt"
    long.write_text(f"Report of the night shift\n{filler}A grey van, plate KX 1187, stood at the gate.\n{filler}")
    with Case(case) as opened:
        options = ParseOptions()
        asyncio.run(ingest(long.parent, opened, lambda event: None, dataset="r", options=options, workers=1))
        chosen = next(entry.id for entry in opened.documents.entries() if entry.filename == "long.txt")
    text = pipeline_text(Proposal("Which vans are named, with plate?", "van", (Column("plate"),)))
    tried = run_trial(case, tmp_path / "trial", text=text, documents=(chosen,), most_characters=3_200)
    [(name, share)] = tried.in_part
    assert name == "long.txt"
    assert 0.4 < share < 0.48  # two pieces of at most 1,500 characters, of 6,672
    with Case(Path(tried.case), read_only=True) as own:
        read = load_document(own, DocumentId(chosen))
    assert read.lines[0].text == "Report of the night shift"
    assert read.lines[61].text == "A grey van, plate KX 1187, stood at the gate."  # at the line where it is
    assert [line.number for line in read.lines] == list(range(1, len(read.lines) + 1))
    assert len(read.text.strip()) <= 3_200
    whole = run_trial(case, tmp_path / "whole", text=text, documents=(chosen,))
    assert whole.in_part == ()


def test_of_one_endless_line_a_trial_reads_the_beginning(case: Path, tmp_path: Path) -> None:
    endless = tmp_path / "records" / "endless.txt"
    endless.write_text("A grey van stood at the gate. " * 2_000)
    with Case(case) as opened:
        options = ParseOptions()
        asyncio.run(ingest(endless.parent, opened, lambda event: None, dataset="r", options=options, workers=1))
        chosen = next(entry.id for entry in opened.documents.entries() if entry.filename == "endless.txt")
    tried = run_trial(case, tmp_path / "trial", text=EMPTY, documents=(chosen,), most_characters=3_000)
    assert tried.in_part == (("endless.txt", pytest.approx(0.05, abs=0.01)),)
    with Case(Path(tried.case), read_only=True) as own:
        assert len(load_document(own, DocumentId(chosen)).text) <= 3_000


def test_a_trial_that_may_send_text_elsewhere_is_recorded_in_the_case(case: Path, tmp_path: Path) -> None:
    run_trial(case, tmp_path / "one", text=EMPTY)
    run_trial(case, tmp_path / "two", text=EMPTY, allow_host=("lab.lan:8000",))
    with Case(case, read_only=True) as opened:
        assert [(job.what, job.hosts) for job in allowed_in(opened)] == [("trial", ("lab.lan:8000",))]


def test_a_trial_loads_no_model_file_from_outside_the_pipelines_folder(
    case: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("elsewhere") / "tiny.gguf"
    file.touch()
    text = f"default_model: {file}\n{EMPTY}"
    with pytest.raises(OutsideBorders, match="the model lies outside the folder of the pipeline") as caught:
        run_trial(case, tmp_path / "one", text=text)
    assert (caught.value.path, caught.value.need) == (file, "read")
    assert run_trial(case, tmp_path / "two", text=text, allow_path=(file,)).calls == 3
    assert run_trial(case, tmp_path / "three", text=text, model="other").items


async def converse(case: Path, commands: list[dict[str, Any]], ends: Callable[[dict[str, Any]], bool]) -> list[Any]:
    written = io.StringIO()
    session = Session(ScriptedModels, written)
    lines: asyncio.Queue[str | None] = asyncio.Queue()
    serving: Awaitable[None] = asyncio.ensure_future(session.serve(lines))
    for command in commands:
        lines.put_nowait(json.dumps(command))
    async with asyncio.timeout(60):
        while True:
            events = [json.loads(line) for line in written.getvalue().splitlines()]
            if any(map(ends, events)):
                break
            await asyncio.sleep(0.01)
    lines.put_nowait(None)
    await serving
    return events


def test_try_is_a_job_of_the_worker(case: Path) -> None:
    command = {"command": "try", "id": "1", "text": EMPTY, "case": str(case)}
    events = asyncio.run(converse(case, [command], lambda event: event["event"] == "CommandFinished"))
    tried = next(event for event in events if event["event"] == "Tried")
    assert len(tried["items"]) == 3
    assert not Path(tried["case"]).exists()  # the last trial goes with the worker


def test_a_trial_that_cannot_be_is_told(case: Path) -> None:
    command = {"command": "try", "id": "1", "text": EMPTY, "case": str(case), "until": "nobody"}
    events = asyncio.run(converse(case, [command], lambda event: event["event"] == "CommandFailed"))
    assert events[-1]["message"] == "operator 'nobody': no step runs 'nobody'"


def test_the_estimate_counts_the_chosen_documents_alone(ask: Callable[..., Any], case: Path) -> None:
    with Case(case) as opened:
        ids = [entry.id for entry in opened.documents.entries()]
        opened.labels.star(ids[:2])
    starred = ask("pipelines.estimate", text=EMPTY, directory=str(case.parent), case=str(case), input="case:starred=1")
    assert starred.calls == 2


@pytest.mark.parametrize(("compare", "left"), [(False, 1), (True, 2)])
def test_the_estimate_leaves_out_documents_that_the_same_question_was_asked_about(
    ask: Callable[..., Any], case: Path, compare: bool, left: int
) -> None:
    """Where rows are compared, the one group asks again when a document has come."""
    text = EMPTY
    if compare:
        text = text.replace("pipeline:", f"{SUM_UP}pipeline:").replace("operations: [read]", "operations: [read, sum]")
    file = case.parent / "Who.yaml"
    file.write_text(text, encoding="utf-8")
    command = {"command": "run", "id": "1", "pipeline": str(file), "case": str(case), "input": "case:"}
    chosen = {"text": text, "directory": str(case.parent), "case": str(case), "input": "case:"}
    before = ask("pipelines.estimate", **chosen)
    asyncio.run(converse(case, [command], lambda event: event["event"] == "CommandFinished"))
    assert ask("pipelines.estimate", **chosen).calls == 0
    other = ask("pipelines.estimate", **{**chosen, "text": text.replace("about", "for")})
    assert other.calls == ask("pipelines.estimate", **chosen, model="another").calls == before.calls
    with Case(case) as opened:
        opened.documents.save(
            "ab" * 32, filename="new.txt", kind="text", size_bytes=4, page_count=1, body={},
            lines=[LineRecord(1, 1, "text")],
        )  # fmt: skip
        opened.ledger.save_run_documents("1", [DocumentRecord("new.txt", "failed", "ab" * 32)])  # it can be read now
    assert ask("pipelines.estimate", **chosen).calls == left


def test_an_estimate_that_is_given_up_looks_at_no_more_documents(case: Path, tmp_path: Path) -> None:
    desk = Desk(tmp_path, lambda event: None, ScriptedModels)
    answers = iter([False, True])  # there are three documents
    desk.is_given_up = lambda: next(answers)
    with pytest.raises(UsageError, match="nobody waits"):
        estimate(desk, text=EMPTY, directory=str(case.parent), case=str(case))
    assert list(answers) == []


def test_chosen_documents_are_counted_and_drawn(ask: Callable[..., Any], case: Path) -> None:
    with Case(case) as opened:
        ids = [entry.id for entry in opened.documents.entries()]
        word = next(line.text for line in opened.documents.lines(ids[1]) if line.text.strip()).split()[0]
        opened.labels.star(ids[1:])
    whole = ask("ask.documents", case=str(case), input="case:")
    assert (whole.count, whole.first) == (3, tuple(ids))
    starred = ask("ask.documents", case=str(case), input="case:starred=1", draw=1, seed=4)
    assert starred.count == 2
    assert len(starred.drawn) == 1 and set(starred.drawn) < set(ids[1:])
    assert starred.drawn == ask("ask.documents", case=str(case), input="case:starred=1", draw=1, seed=4).drawn
    found = ask("ask.documents", case=str(case), input=f"case:words={word}")
    assert ids[1] in found.first
    assert ask("ask.documents", case=str(case), input="case:words=nosuchword").count == 0


def test_a_question_of_the_box_is_told_from_one_that_was_changed(ask: Callable[..., Any]) -> None:
    drafted = ask("ask.draft", question="Which plates are mentioned?")
    read = ask("ask.read", text=drafted.text)
    assert (read.proposal, read.text, read.has_own_steps) == (drafted.proposal, drafted.text, False)
    changed = drafted.text.replace("num_tokens: 6000", "num_tokens: 600")
    read = ask("ask.read", text=changed)
    assert (read.proposal, read.text, read.has_own_steps) == (drafted.proposal, changed, True)
    assert ask("ask.read", text=EMPTY) is None


@pytest.mark.parametrize(("row", "called"), [("Document", ""), ("", ""), ("document type", "document type")])
def test_where_a_row_is_called_a_document_each_document_is_one(ask: Callable[..., Any], row: str, called: str) -> None:
    columns = [{"name": "plate", "kind": "text", "choices": []}]
    written = ask("ask.write", proposal={"question": "Which?", "row": row, "columns": columns, "notes": []})
    assert written.proposal.row == called
    assert ("one_row_per" in written.text) == bool(called)


def test_a_draft_that_is_given_up_ends_and_closes_its_model(tmp_path: Path) -> None:
    opened: list[ScriptedBackend] = []

    class SlowModels(ScriptedModels):
        def open_model(self, name: str) -> ScriptedBackend:
            opened.append(ScriptedBackend(answer, delay_seconds=60))
            return opened[-1]

    desk = Desk(tmp_path, lambda event: None, SlowModels)
    desk.is_given_up = lambda: bool(opened and opened[0].requests)
    begun = time.monotonic()
    with pytest.raises(UsageError, match="given up"):
        draft_table(desk, question="Which plates are mentioned?")
    assert time.monotonic() - begun < 30
    assert opened[0]._closed


def test_ready_made_questions_tell_their_columns(ask: Callable[..., Any]) -> None:
    tables = {each.name: ask("ask.read", text=each.text) for each in ask("pipelines.templates")}
    assert [name for name, table in tables.items() if table is None] == ["empty"]
    assert all(table.has_own_steps for table in tables.values() if table)
    officers = tables["officers"].proposal
    assert (officers.row, [c.name for c in officers.columns]) == (
        "officer",
        ["officer", "acts", "dates", "evidence", "records"],
    )
