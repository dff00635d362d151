"""Whatever plan a directive rewrites, the result passes the checks, writes the same fields and can be read as YAML."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_pipelines import Flow, draw_gather, draw_resolve, draw_split, draw_unnest, pipelines, some

from engine.directives.base import Blocked, Facts, Place, places
from engine.directives.registry import DIRECTIVES
from engine.language.checks import check, field_flow
from engine.language.writer import to_yaml
from engine.loader import parse_pipeline
from engine.plan.plan import Plan

FACTS = st.builds(
    Facts,
    context_tokens=st.integers(200, 40_000),
    models=st.sampled_from([(), ("large",), ("large", "small")]),
    field_tokens=st.dictionaries(st.sampled_from(["text", "filename"]), st.integers(1, 100_000)),
)
HEAD = "datasets: {records: {type: folder, path: records}}\ndefault_model: small\noperations:\n"
TYPES = ("string", "list[string]", "list[{who: string, kind: enum[a, b, c, d]}]", "boolean", "enum[a, b]", "integer")
TYPES += ("quote(text)?", "string or Nothing", "list[quote(text)]", "date?", "list[string, 2..]", "list[string, 6..6]")
MORE = ("drop_keys: [path]", "max_tokens: 50", "too_long: head", "layout: document_first", "model: large", "limit: 2")
MORE += ("gleaning: {validation_prompt: Is it good?}", "calibrate: true", "cite: true")
NOT_WITH_CITE = {"calibrate: true", "too_long: head"}
ASKS = (
    "What does it say?",
    'Find every \\"use of force\\" and who is to blame.',
    "Say what:\\n- a\\n- b\\n- c\\n- d\\n",
)


def rich_fields(draw, name: str, types: tuple[str, ...], *, most: int) -> dict[str, str]:
    kinds = draw(st.lists(st.sampled_from(types), min_size=1, max_size=most))
    return {f"{name}_{number}": kind for number, kind in enumerate(kinds)}


def prompt_about(draw, flow: Flow) -> str:
    # quotes come from the text, so it is shown in all prompts that may ask for one
    others = draw(st.lists(st.sampled_from(sorted(flow.texts)), max_size=2))
    shown = " ".join(f"{{{{ input.{name} }}}}" for name in dict.fromkeys(["text", *others]))
    return f"{shown}\\n\\n{draw(st.sampled_from(ASKS))}"


def written(fields: dict[str, str]) -> str:
    return "{schema: {" + ", ".join(f"{name}: '{kind}'" for name, kind in fields.items()) + "}}"


def draw_rich_map(draw, flow: Flow, name: str) -> str:
    fields = rich_fields(draw, name, TYPES, most=4)
    keys = st.sets(st.sampled_from(MORE), max_size=2)
    more = [*draw(keys.filter(lambda keys: "cite: true" not in keys or not keys & NOT_WITH_CITE)), ""]
    if "string" in fields.values() and draw(st.booleans()):
        field = next(field for field, kind in fields.items() if kind == "string")
        more.insert(0, f"validate: [output.{field} != '']")
    line = f'type: map, prompt: "{prompt_about(draw, flow)}", {", ".join(filter(None, more))}'
    flow.texts |= {field for field, kind in fields.items() if kind == "string"}
    flow.lists |= {field for field, kind in fields.items() if kind == "list[string]"}
    return f"{line.rstrip(', ')}, output: {written(fields)}"


def draw_rich_filter(draw, flow: Flow, name: str) -> str:
    fields = {**rich_fields(draw, name, ("string", "quote(text)?", "enum[a, b]"), most=2), f"{name}_yes": "boolean"}
    prompt = prompt_about(draw, flow)
    flow.texts |= {field for field, kind in fields.items() if kind == "string"}
    return f'type: filter, prompt: "{prompt}", output: {written(fields)}'


def draw_rich_reduce(draw, flow: Flow, name: str) -> str:
    key = draw(st.sampled_from([*sorted(flow.texts - {"text"}), "_all"]))
    shown = " ".join(f"{{{{ r.{some(draw, flow.texts)} }}}}" for _ in range(2))
    types = ("string", "list[string]", "integer", "boolean")
    fields = rich_fields(draw, name, types, most=3)
    aggregate = draw(st.sampled_from(["n: {count: text}", "f: {collect_unique: filename}", "m: {most_common: kind}"]))
    return (
        f"type: reduce, reduce_key: {key}, pass_through: true, "
        f'prompt: "{{% for r in inputs %}}{shown}{{% endfor %}} Summarise.", '
        f"aggregate: {{{name}_{aggregate}}}, output: {written(fields)}"
    )


@st.composite
def rich_pipelines(draw) -> str:
    flow, names, lines = Flow(texts={"text", "filename"}), [], []
    for letter in "abcdef"[: draw(st.integers(1, 5))]:
        kinds = [draw_rich_map, draw_rich_map, draw_rich_filter, draw_resolve]
        kinds += [draw_split] if flow.may_split else []
        kinds += [draw_gather] if flow.chunks else []
        kinds += [draw_unnest] if flow.lists else []
        kinds += [draw_rich_reduce] if letter > "a" else []
        draw_one = draw(st.sampled_from(kinds))
        names.append(f"op{letter}")
        lines.append(f"  - {{name: op{letter}, {draw_one(draw, flow, names[-1])}}}\n")
        if draw_one is draw_rich_reduce:
            flow.chunks = None
    return (
        f"{HEAD}{''.join(lines)}pipeline: {{steps: [{{name: all, input: records, operations: [{', '.join(names)}]}}]}}"
    )


def of_random_pipeline(drawn) -> str:
    names = [line.split("name: ")[1].split(",")[0] for line in drawn.operations.splitlines()]
    steps = drawn.steps or f"[{{name: all, input: records, operations: [{', '.join(names)}]}}]"
    return f"{HEAD}{drawn.operations}\npipeline: {{steps: {steps}}}\n"


PLANS = (rich_pipelines() | pipelines().map(of_random_pipeline)).map(lambda text: parse_pipeline(text).plan)


def wrong(plan: Plan) -> list[str]:
    return [str(problem) for problem in check(plan) if problem.severity == "error"]


def check_rewritten(before: Mapping[str, object], after: Plan) -> None:
    """`before`: the fields of each step of the plan as it was."""
    assert wrong(after) == []
    flow = field_flow(after)
    for step, fields in before.items():
        assert flow[step] in (fields, None)
    assert parse_pipeline(to_yaml(after)).plan == after


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(plan=PLANS, facts=FACTS)
def test_every_directive_at_every_place(plan, facts) -> None:
    assert wrong(plan) == []
    fields = field_flow(plan)
    for place in places(plan):
        for one in DIRECTIVES:
            site = one.matches(plan, place, facts)
            if isinstance(site, Blocked):
                assert site.reason
                continue
            params = one.default_params(site)
            assert one.read_params(params.to_json()) == params
            assert one.check_params(site, params) == [], one.name
            check_rewritten(fields, one.apply(site, params))


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(plan=PLANS, facts=FACTS, data=st.data())
def test_directives_one_after_another(plan, facts, data) -> None:
    before = field_flow(plan)
    for _ in range(3):
        found = [
            (one, site)
            for place in places(plan)
            for one in DIRECTIVES
            if not isinstance(site := one.matches(plan, Place(place.step, place.index), facts), Blocked)
        ]
        if not found:
            return
        one, site = data.draw(st.sampled_from(found))
        plan = one.apply(site, one.default_params(site))
        check_rewritten(before, plan)
