"""What a run will take: arithmetic over known sizes, and ranges where only a run can tell."""

from __future__ import annotations

import pytest
from scripted_run import pipeline, write_jsonl, write_texts

from engine.estimate.flow import NOTHING, Guess, estimate_work
from engine.estimate.sizes import SYSTEM_TOKENS, literal_characters
from engine.estimate.sources import look_at
from engine.estimate.total import total_of
from engine.language.templates import Template
from engine.loader import parse_pipeline
from engine.plan.rewrites import rewritten
from engine.plan.work import as_written
from storage.case import Case
from storage.documents import Documents, LineRecord

MAP = '  - {name: list, type: map, prompt: "{{ input.text }}1234", output: {schema: {done: boolean, on: date}}}'
KEEP = '  - {name: keep, type: filter, prompt: "{{ input.text }}5678", output: {schema: {keep: boolean}}}'


def estimated(loaded, *, rewrite=True):
    workflow = rewritten(loaded.plan) if rewrite else as_written(loaded.plan)
    found, assumptions = estimate_work(workflow, look_at(loaded), characters_per_token=4.0)
    return {(e.work.node.name, e.work.decides): e for e in found}, assumptions


@pytest.fixture
def rows(tmp_path):
    """Ten rows of 400 characters: 100 tokens at four characters each."""
    return write_jsonl(tmp_path / "in.jsonl", [{"text": "x" * 400}] * 10)


def test_a_map_asks_once_per_row(rows) -> None:
    found, assumptions = estimated(pipeline(rows, MAP))
    one = found["list", False]
    assert one.calls == Guess.known(10)
    assert one.prompt_tokens == Guess.known(10 * (SYSTEM_TOKENS + 1 + 100))
    assert one.sampled_tokens == Guess.known(10 * (1 + 6))
    assert assumptions == []


def test_a_filter_leaves_none_half_or_all(rows) -> None:
    found, assumptions = estimated(pipeline(rows, f"{KEEP}\n{MAP}"), rewrite=False)
    assert (found["keep", False].calls, found["list", False].calls) == (Guess.known(10), Guess(0, 5, 10))
    assert assumptions == ["keep: half of its rows are kept"]


@pytest.mark.parametrize(
    "operator",
    [
        "{name: shown, type: extract, prompt: What?, document_keys: [text]}",
        "{name: shown, type: rank, prompt: Which?, input_keys: [text]}",
        "{name: shown, type: topk, method: llm_compare, k: 3, keys: [text], query: Which?}",
    ],
)
def test_a_text_that_is_shown_beside_a_prompt_counts(rows, operator) -> None:
    found, _ = estimated(pipeline(rows, f"  - {operator}"))
    one = found["shown", False]
    assert one.calls.likely == 10
    assert 10 * (100 + SYSTEM_TOKENS) <= one.prompt_tokens.likely <= 10 * (100 + SYSTEM_TOKENS + 2)


@pytest.mark.parametrize("key", ["sample: 3", "limit: 3"])
def test_a_sample_and_a_limit_bound_what_is_asked_and_what_follows(rows, key) -> None:
    few = MAP.replace("type: map", f"type: map, {key}")
    found, _ = estimated(pipeline(rows, f"{few}\n{MAP.replace('name: list', 'name: again')}"))
    assert found["list", False].calls == found["again", False].calls == Guess.known(3)


@pytest.mark.parametrize(("condition", "calls"), [("", Guess(20, 20, 50)), (", if: 'true'", Guess(10, 20, 50))])
def test_gleaning_asks_a_judge_and_then_again(rows, condition, calls) -> None:
    gleaning = f"type: map, gleaning: {{num_rounds: 2, validation_prompt: Good?{condition}}}"
    found, assumptions = estimated(pipeline(rows, MAP.replace("type: map", gleaning)))
    assert found["list", False].calls == calls
    assert assumptions == ["list: gleaning finds nothing to improve"]


def test_a_limit_of_kept_rows_bounds_what_follows(rows) -> None:
    few = KEEP.replace("type: filter", "type: filter, limit: 3")
    found, _ = estimated(pipeline(rows, f"{few}\n{MAP}"), rewrite=False)
    assert (found["keep", False].calls, found["list", False].calls) == (Guess.known(10), Guess(0, 3, 3))


CODE = "  - {name: first, type: KIND, limit: 3, code: 'def transform(doc): return {}'}"


@pytest.mark.parametrize(("kind", "calls"), [("code_map", Guess.known(3)), ("code_filter", Guess(0, 3, 3))])
def test_a_limit_of_code_bounds_what_follows(rows, kind, calls) -> None:
    found, _ = estimated(pipeline(rows, f"{CODE.replace('KIND', kind)}\n{MAP}"), rewrite=False)
    assert found["list", False].calls == calls


def test_a_limit_of_groups_bounds_what_is_asked_and_what_follows(rows) -> None:
    reduce = (
        '  - {name: sum, type: reduce, reduce_key: text, limit: 2, prompt: "{{ inputs[0].text }}", '
        "output: {schema: {n: integer}}}"
    )
    found, _ = estimated(pipeline(rows, f"{reduce}\n{MAP.replace('input.text', 'input.n')}"))
    assert found["sum", False].calls == found["list", False].calls == Guess(1, 2, 2)


def test_a_filter_that_decides_early_is_asked_once(rows) -> None:
    found, _ = estimated(pipeline(rows, f"{MAP}\n{KEEP}"))
    assert found["keep", True].calls == Guess.known(10)
    assert found["list", False].calls == Guess(0, 5, 10)
    assert found["keep", False].calls == Guess.known(0)


def test_groups_read_all_rows_once(rows) -> None:
    reduce = (
        '  - {name: sum, type: reduce, reduce_key: _all, prompt: "{% for i in inputs %}{{ i.text }}{% endfor %}abcd", '
        "output: {schema: {n: integer}}}"
    )
    found, _ = estimated(pipeline(rows, reduce))
    one = found["sum", False]
    assert one.calls == Guess.known(1)
    assert one.prompt_tokens == Guess.known(SYSTEM_TOKENS + 1 + 10 * 100)


def test_chunks_are_counted_from_the_text(rows) -> None:
    split = "  - {name: cut, type: split, split_key: text, method: token_count, method_kwargs: {num_tokens: 30}}"
    chunk = '  - {name: each, type: map, prompt: "{{ input.text_chunk }}", output: {schema: {n: integer}}}'
    found, _ = estimated(pipeline(rows, f"{split}\n{chunk}"))
    assert found["each", False].calls == Guess.known(40)
    assert found["each", False].prompt_tokens == Guess.known(40 * (SYSTEM_TOKENS + 30))


def test_pairs_are_a_range(rows) -> None:
    resolve = (
        '  - {name: same, type: resolve, comparison_prompt: "{{ input1.text }}{{ input2.text }}", '
        "output: {schema: {text: string}}, blocking_threshold: 0.5}"
    )
    found, assumptions = estimated(pipeline(rows, resolve))
    assert found["same", False].calls == Guess(0, 10, 45)
    assert assumptions == ["same: about as many pairs or groups are asked about as there are rows"]


def test_documents_are_sized_by_the_case_or_else_by_their_files(tmp_path) -> None:
    folder = write_texts(tmp_path / "in", {"a.txt": "x" * 400})
    (folder / "b.pdf").write_bytes(b"%PDF" + bytes(9996))
    loaded = pipeline(folder, MAP)
    source = look_at(loaded)["records"]
    assert [(i.label, i.characters["text"], i.is_guess) for i in source.items] == [
        ("a.txt", 400, False),
        ("b.pdf", 400, True),
    ]
    assert source.assumed.startswith("records: the text of 1 of 2 files is guessed from their size")
    with Case(tmp_path / "case.redwell") as case:
        lines = [LineRecord(1, 1, "four")]
        case.documents.save("ab" * 32, filename="b.pdf", kind="pdf", size_bytes=9, page_count=1, body={}, lines=lines)
        case.documents.add_path("ab" * 32, str(folder / "b.pdf"))
        again = look_at(loaded, case=case.path)["records"]
    assert [(i.characters["text"], i.is_guess) for i in again.items] == [(400, False), (4, False)]
    assert again.assumed == ""


@pytest.mark.parametrize(
    ("dataset", "sizes", "told"),
    [
        ("{type: memory, data: [{text: abc}, {text: de}]}", [3, 2], ""),
        ("{type: case, path: other.redwell, glob: '*.txt'}", [4], ""),
        ("{type: file, path: note.txt}", [5], ""),
        ("{type: file, path: book.xlsx}", [4000] * 100, "the rows of book.xlsx are not counted before a run"),
    ],
)
def test_every_kind_of_dataset_is_looked_at(tmp_path, dataset, sizes, told) -> None:
    (tmp_path / "note.txt").write_text("12345", encoding="utf-8")
    (tmp_path / "book.xlsx").write_bytes(b"PK")
    with Case(tmp_path / "other.redwell") as case:
        for id, name in (("ab", "a.txt"), ("cd", "b.pdf")):
            line = [LineRecord(1, 1, "four")]
            case.documents.save(id * 32, filename=name, kind="text", size_bytes=9, page_count=1, body={}, lines=line)
            case.documents.add_path(id * 32, name)
    text = f"datasets: {{records: {dataset}}}\noperations:\n{MAP}\n"
    steps = "pipeline: {steps: [{name: s, input: records, operations: [list]}]}"
    source = look_at(parse_pipeline(text + steps, directory=tmp_path))["records"]
    assert [item.characters["text"] for item in source.items] == sizes
    assert told in source.assumed and bool(told) == bool(source.assumed)


def test_a_dataset_that_is_not_there_is_assumed_and_said(tmp_path) -> None:
    loaded = pipeline(tmp_path / "gone.jsonl", MAP)
    found, assumptions = estimated(loaded)
    assert found["list", False].calls == Guess.known(100)
    assert "nothing is at" in assumptions[0]
    assert "100 rows of 4,000 characters are assumed" in assumptions[0]


@pytest.mark.parametrize(
    ("text", "characters"),
    [("{{ input.a }}", 0), ("ab{{ input.a }}cd", 4), ("{% if x %}ab{% endif %}{# no #}c", 3), ("", 0), ("{{ open", 0)],
)
def test_only_text_outside_expressions_counts(text, characters) -> None:
    assert literal_characters(Template(text)) == characters


@pytest.mark.parametrize(
    ("guess", "text"),
    [
        (Guess.known(1234), "1,234"),
        (Guess(0, 5, 10), "about 5 (0-10)"),
        (Guess(0, 5, float("inf")), "about 5 (0-?)"),
        (Guess(0, 3, float("inf")).times(0, 0, 0), "0"),
    ],
)
def test_a_guess_says_its_range(guess, text) -> None:
    assert guess.text() == text


OTHER = MAP.replace("name: list", "name: other").replace("1234", "5678").replace("done", "won").replace("on:", "at:")


def test_what_two_prompts_begin_with_is_read_once(rows) -> None:
    found, _ = estimated(pipeline(rows, f"{MAP}\n{OTHER}"))
    assert found["list", False].read_tokens == Guess.known(10 * (SYSTEM_TOKENS + 1 + 100))
    assert found["other", False].prompt_tokens == found["list", False].prompt_tokens
    assert found["other", False].read_tokens == Guess.known(10 * (SYSTEM_TOKENS + 1))


def test_a_prompt_that_begins_otherwise_is_read_whole(rows) -> None:
    found, _ = estimated(pipeline(rows, f"{MAP}\n{OTHER.replace('{{ input.text }}5678', '5678{{ input.text }}')}"))
    assert found["other", False].read_tokens == found["other", False].prompt_tokens


def test_a_text_that_is_put_first_is_read_once_wherever_the_prompts_show_it(rows) -> None:
    behind = OTHER.replace("{{ input.text }}5678", "5678{{ input.text }}").replace("type: map", "LAYOUT, type: map")
    found, _ = estimated(pipeline(rows, f"{MAP}\n{behind.replace('LAYOUT', 'layout: document_first')}"))
    assert found["other", False].read_tokens == Guess.known(10 * (SYSTEM_TOKENS + 1))
    prompts = ", ".join(f'{{prompt: "{n} {{{{ input.text }}}}", output_keys: [f{n}]}}' for n in range(4))
    fields = "output: {schema: {f0: boolean, f1: boolean, f2: boolean, f3: boolean}}"
    asked = f"  - {{name: ask, type: parallel_map, layout: LAYOUT, prompts: [{prompts}], {fields}}}"
    for layout, times in (("document_first", 1), ("as_written", 4)):
        found, _ = estimated(pipeline(rows, asked.replace("LAYOUT", layout)))
        assert found["ask", False].read_tokens == Guess.known(10 * (4 * (SYSTEM_TOKENS + 2 / 4) + times * 100))


def test_the_text_of_a_document_is_read_once_for_all_rows_made_of_it(rows) -> None:
    items = MAP.replace("done: boolean, on: date", 'items: "list[string]"')
    spread = "  - {name: each, type: unnest, unnest_key: items}"
    found, _ = estimated(pipeline(rows, f"{items}\n{spread}\n{OTHER.replace('1234', '')}"))
    assert found["other", False].calls.likely == 30
    # The text was read for `list`; each of the 30 prompts adds the system message and what stands behind the text.
    assert found["other", False].read_tokens.likely == 30 * (SYSTEM_TOKENS + 1)


def test_operators_that_wait_for_all_rows_make_texts_be_read_again(rows) -> None:
    same = "  - {name: same, type: dedup, keys: [text], text_threshold: 1}"
    found, _ = estimated(pipeline(rows, f"{MAP}\n{same}\n{OTHER}"), rewrite=False)
    assert found["other", False].read_tokens.likely == found["other", False].prompt_tokens.likely


JOIN = """
datasets: {complaints: {type: memory, data: [{acts: [a, b]}]}, roster: {type: memory}}
operations:
  - {name: each, type: unnest, unnest_key: acts}
  - {name: match, type: equijoin, comparison_prompt: "{{ left.acts }} | {{ right.name }}"}
  - {name: list, type: map, prompt: "{{ input.name }}", output: {schema: {n: integer}}}
pipeline:
  steps:
    - {name: one, input: complaints, operations: [each]}
    - {name: two, operations: [match: {left: one, right: roster}, list]}
"""


def test_a_join_with_a_side_without_rows_makes_none_however_many_the_other_has() -> None:
    loaded = parse_pipeline(JOIN)
    found, _ = estimate_work(rewritten(loaded.plan), look_at(loaded, data={"roster": []}), 4.0)
    assert [(e.work.node.name, e.calls) for e in found] == [("each", NOTHING), ("match", NOTHING), ("list", NOTHING)]
    assert total_of(found).calls.text() == "0"


def test_a_prompt_about_rows_without_number_that_reads_none_of_them_has_a_length(rows) -> None:
    spread = "  - {name: each, type: unnest, unnest_key: text}"
    reduce = '  - {name: sum, type: reduce, reduce_key: _all, prompt: "{% for row in inputs %}{% endfor %}12345678",'
    reduce += " output: {schema: {n: integer}}}"
    found, _ = estimated(pipeline(rows, f"{spread}\n{reduce}"))
    assert found["sum", False].rows.text() == "about 30 (0-?)"
    assert found["sum", False].prompt_tokens == Guess(0, SYSTEM_TOKENS + 2, SYSTEM_TOKENS + 2)


@pytest.mark.parametrize(("more", "length"), [("", 10), (", include_hidden: true", 16)])
def test_the_text_of_documents_that_were_read_is_measured_and_not_loaded(tmp_path, monkeypatch, more, length) -> None:
    folder = write_texts(tmp_path / "in", {"a.pdf": ""})
    with Case(tmp_path / "other.redwell") as case:
        lines = [LineRecord(1, 1, "four"), LineRecord(2, 1, "hidden", "white"), LineRecord(3, 2, "fünf")]
        case.documents.save("ab" * 32, filename="a.pdf", kind="pdf", size_bytes=9, page_count=2, body={}, lines=lines)
        case.documents.add_path("ab" * 32, str(folder / "a.pdf"))
    monkeypatch.setattr(Documents, "lines", lambda *given: pytest.fail("the lines were read"))
    for dataset in ("{type: folder, path: in", "{type: case, path: other.redwell"):
        text = f"datasets: {{records: {dataset}{more}}}}}\noperations:\n{MAP}\n"
        steps = "pipeline: {steps: [{name: s, input: records, operations: [list]}]}"
        loaded = parse_pipeline(text + steps, directory=tmp_path)
        (item,) = look_at(loaded, case=tmp_path / "other.redwell")["records"].items
        assert (item.characters["text"], item.values, item.is_guess) == (length, None, False)
