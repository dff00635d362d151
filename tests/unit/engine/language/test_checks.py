from __future__ import annotations

from engine.language.checks import check, field_flow
from engine.loader import parse_pipeline
from engine.operators.registry import REGISTRY

HEAD = """\
datasets:
  records: {type: folder, path: records}
operations:
"""
TAIL = """\
pipeline:
  steps:
    - {name: main, input: records, operations: [%s]}
"""


def ask(name: str, prompt: str, schema: str, more: str = "") -> str:
    return f"  - name: {name}\n    type: ask\n    prompt: {prompt}\n    output: {{schema: {{{schema}}}}}\n{more}"


def group(name: str, key: str) -> str:
    return (
        f"  - name: {name}\n    type: group\n    reduce_key: {key}\n"
        '    prompt: "{% for i in inputs %}{{ i.act }}{% endfor %}"\n    output: {schema: {acts: string}}\n'
    )


def unify(name: str, key: str) -> str:
    prompt = f'"{{{{ input1.{key} }}}} {{{{ input2.{key} }}}}"'
    return f"  - name: {name}\n    type: unify\n    key: {key}\n    prompt: {prompt}\n"


FIND = ask("find", '"{{ input.text }}"', "officer: string, act: string")


def pipeline(operators: list[str]) -> str:
    names = ", ".join(text.split("name: ")[1].split("\n")[0] for text in operators)
    return HEAD + "".join(operators) + TAIL % names


def place(operators: list[str], at: str) -> str:
    """Count the line and column of the last `at` in the pipeline."""
    text = pipeline(operators)
    before = text[: text.rindex(at)]
    return f"p.yaml:{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"


def found(operators: list[str], registry: dict, **options: object) -> list[str]:
    loaded = parse_pipeline(pipeline(operators), file="p.yaml", registry=registry)
    problems = check(loaded.plan, positions=loaded.positions, **options)  # type: ignore[arg-type]
    return [f"{p} | {p.advice}" for p in problems]


def test_a_sound_pipeline_has_no_problems(registry: dict) -> None:
    assert found([FIND, unify("same", "officer"), group("per_officer", "officer")], registry) == []


def test_all_problems_are_found_at_once_with_their_places(registry: dict) -> None:
    operators = [
        ask("find", '"{{ input.txt }} {{ input.text }}"', "officer: string, said: quote(body)"),
        ask("judge", "|\n      Officer:\n      {{ input.oficer }}", "guilty: bool"),
    ]
    assert found(operators, registry) == [
        f"{place(operators, 'quote(body)')}: "
        "operator 'find': output.schema.said reads the field 'body', which nothing before it writes"
        " | Fields here: filename, path, text, pages, kind.",
        f"{place(operators, 'txt')}: "
        "operator 'find': prompt reads the field 'txt', which nothing before it writes"
        " | Did you mean 'text'? Fields here: filename, path, text, pages, kind.",
        f"{place(operators, 'oficer')}: "
        "operator 'judge': prompt reads the field 'oficer', which nothing before it writes"
        " | Did you mean 'officer'? Fields here: filename, path, text, pages, kind, officer, said.",
    ]


def test_a_field_that_was_dropped_is_explained(registry: dict) -> None:
    judge = ask("judge", '"{{ input.text }}"', "guilty: bool")
    dropped = ask("find", '"{{ input.text }}"', "officer: string", "    drop_keys: [text]\n")
    assert found([dropped, judge], registry) == [
        f"{place([dropped, judge], 'text }}')}: "
        "operator 'judge': prompt reads the field 'text', which 'find' dropped before it"
        " | Keep 'text' in 'find', or move this operator before it."
    ]
    grouped = found([FIND, group("per_officer", "officer"), judge], registry)
    assert "which 'per_officer' dropped before it" in grouped[0]


def test_a_missing_reduce_key_is_placed_at_the_key(registry: dict) -> None:
    assert found([FIND, group("per_officer", "oficer")], registry) == [
        f"{place([FIND, group('per_officer', 'oficer')], 'oficer')}: "
        "operator 'per_officer': reduce_key reads the field 'oficer', which nothing before it writes"
        " | Did you mean 'officer'? Fields here: filename, path, text, pages, kind, act, officer."
    ]


def test_a_key_that_is_a_path_is_told_how_to_reach_what_is_inside(registry: dict) -> None:
    [problem] = found([FIND, group("per_officer", "officer.name")], registry, source_fields={"records": ["text"]})
    assert "reduce_key reads the field 'officer.name', which nothing before it writes" in problem
    assert problem.endswith("A key names a whole field: lift what 'officer' holds by unnest with expand_fields.")


def test_overwriting_and_dropping_what_is_not_there_are_warnings(registry: dict) -> None:
    operators = [FIND, ask("again", '"{{ input.text }}"', "officer: string", "    drop_keys: [pagse]\n")]
    assert found(operators, registry) == [
        f"{place(operators, 'string}}')}: "
        "warning: operator 'again': the field 'officer' written by 'find' is overwritten"
        " | Choose another name if both values are needed.",
        f"{place(operators, 'pagse')}: "
        "warning: operator 'again': drops the field 'pagse', which is not there"
        " | Did you mean 'pages'? Fields here: filename, path, text, pages, kind, act, officer.",
    ]


def test_a_written_field_may_be_dropped_by_its_writer(registry: dict) -> None:
    draft = ask("find", '"{{ input.text }}"', "draft: string, act: string", "    drop_keys: [draft]\n")
    assert found([draft], registry) == []
    assert "which 'find' dropped" in found([draft, ask("b", '"{{ input.draft }}"', "x: int")], registry)[0]


def test_a_quote_needs_a_text(registry: dict) -> None:
    operators = [ask("find", '"Say something."', "said: quote")]
    problems = found(operators, registry)
    assert problems[0].startswith(
        f"{place(operators, '{said')}: operator 'find': a quote has no text to be copied from"
    )


def test_unifying_after_grouping_is_a_warning(registry: dict) -> None:
    problems = found([FIND, group("per_officer", "officer"), unify("same", "officer")], registry)
    assert "warning: operator 'same': unifies 'officer' after 'per_officer' has grouped by it" in problems[0]


def test_unknown_source_fields_leave_reads_open_until_they_are_known(registry: dict) -> None:
    text = HEAD.replace("folder, path: records", "file, path: rows.json") + FIND + TAIL % "find"
    plan = parse_pipeline(text, registry=registry).plan
    assert check(plan) == []
    assert [p.severity for p in check(plan, source_fields={"records": ["body"]})] == ["error"]


def test_field_flow_gives_the_fields_after_each_step(registry: dict) -> None:
    plan = parse_pipeline(HEAD + FIND + group("g", "officer") + TAIL % "find, g", registry=registry).plan
    assert field_flow(plan) == {"main": frozenset({"officer", "acts"})}


def test_a_resolved_field_that_rows_do_not_have_is_refused_unless_a_model_writes_it() -> None:
    resolve = (
        '  - name: same\n    type: resolve\n    comparison_prompt: "{{ input1.filename }} {{ input2.filename }}"\n'
        "    output: {schema: {filenam: string}}\n"
    )
    chosen = [resolve, resolve + "    canonical: longest\n    resolution_prompt: '{{ inputs[0].filename }}'\n"]
    for operator in chosen:
        assert found([operator], REGISTRY) == [
            f"{place([operator], 'string}}')}: "
            "operator 'same': output.schema.filenam reads the field 'filenam', which nothing before it writes"
            " | Did you mean 'filename'? Fields here: filename, path, text, pages, kind."
        ]
    assert found([resolve + "    resolution_prompt: '{{ inputs[0].filename }}'\n"], REGISTRY) == []


def test_a_part_that_a_type_has_not_is_placed_by_letters() -> None:
    operator = (
        '  - name: find\n    type: map\n    prompt: "{{ input.text }}"\n    output: {schema: {fee: amount}}\n'
        "    validate: [output.kind == 'Prüfgebühr' or output.fee.vale > 0]\n"
    )
    [problem] = found([operator], REGISTRY)
    assert problem.startswith(f"{place([operator], 'output.fee')}: operator 'find': reads 'vale' of 'fee'")
