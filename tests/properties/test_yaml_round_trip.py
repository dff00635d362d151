from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar
from unittest.mock import patch

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import engine.frame.pipeline
import engine.frame.signatures
import engine.loader
from engine.errors import PipelineError
from engine.frame.pipeline import Pipeline
from engine.language.binding import unbind
from engine.language.schema import Field, ListOf, Quote, Scalar, Schema
from engine.language.templates import Template
from engine.language.writer import to_yaml
from engine.loader import parse_pipeline
from engine.operators.base import Operator, Outcome
from engine.plan.dataset import Parsing, ParsingTool
from engine.plan.frozen import FrozenMap, freeze
from engine.plan.node import Node, Traits
from engine.plan.plan import Dataset, Output, Plan, Settings, Step, SystemPrompt
from engine.plan.retriever import QUERY_VARIABLES, Embedding, FullText, Query, Retriever


@dataclass(frozen=True)
class Part:
    count: int = 1
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Thing(Node):
    kind: ClassVar[str] = "thing"
    prompt: Template
    schema: Schema | None = field(default=None, metadata={"yaml": "output.schema"})
    samples: int = field(default=1, metadata={"yaml": "output.n"})
    ratio: float = 0.5
    keep: bool = True
    note: str | None = None
    keys: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()
    options: Mapping[str, Any] = field(default_factory=lambda: FrozenMap({}))
    part: Part = field(default_factory=Part)
    other: Part | None = field(default=None, metadata={"yaml": "nested.other"})

    def traits(self) -> Traits:
        return Traits(reads=frozenset(), writes=frozenset())


async def run(node: Any, rows: list[Any], tools: Any) -> Outcome:
    return Outcome(rows=rows)


REGISTRY = {"thing": Operator(Thing, run)}

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ["yes", "null", "1", "1.5", "~", "- a", "a: b", "#", "", " lead", "trail ", "a\nb\n", "a\n\n", "\n", "a \nb"]
    + ["*x", "&x", "!x", "%x", "2020-01-01", "a\r\nb", "\x85", "\u2028a", "\ufeff", "'\"", "a\n b\n", "<<", "=", "0x1F"]
)  # fmt: skip
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6).filter(str.strip) | st.sampled_from(
    ["<<", "type", "description", "name", "1", "null", "items", "source"]
)
PROMPTS = TEXT.map(lambda t: t.replace("{", "(") + "\n{{ input.text }}\n" + t.replace("{", "("))
FLOATS = st.floats(allow_nan=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | FLOATS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=5,
)
TYPES = st.sampled_from([Scalar("string"), Scalar("date"), ListOf(Scalar("integer")), Quote("text")])
SCHEMAS = st.lists(st.builds(Field, NAMES, TYPES, TEXT), min_size=1, max_size=3, unique_by=lambda f: f.name).map(
    lambda fields: Schema(tuple(fields))
)
PARSING = st.builds(
    Parsing,
    st.sampled_from(["mine", "other"]),
    st.none() | TEXT,
    st.none() | TEXT,
    st.dictionaries(NAMES, JSON, max_size=2).map(freeze),
)
ROWS = st.lists(st.dictionaries(NAMES, JSON, max_size=2).map(freeze), max_size=2).map(tuple)


@st.composite
def datasets(draw: st.DrawFn, name: str) -> Dataset:
    parsing = tuple(draw(st.lists(PARSING, max_size=2)))
    match draw(st.sampled_from(["folder", "file", "case", "memory"])):
        case "folder":
            return Dataset(name, "folder", draw(NAMES), parsing=parsing)
        case "file":
            return Dataset(name, "file", draw(NAMES), sheet=draw(TEXT), parsing=parsing)
        case "case":
            globs = tuple(draw(st.lists(TEXT, max_size=2)))
            return Dataset(name, "case", draw(TEXT), glob=globs, parsing=parsing)
    return Dataset(name, "memory", data=draw(ROWS), parsing=parsing)


PHRASES = TEXT.map(lambda t: Template(t.replace("{", "(") + "{{ input.text }}"))
QUERIES = PHRASES.map(lambda t: Template(t.text, QUERY_VARIABLES))


@st.composite
def retrievers(draw: st.DrawFn, name: str, source: str) -> Retriever:
    fts = draw(st.none() | st.builds(FullText, PHRASES, QUERIES))
    embedding = draw(st.builds(Embedding, QUERIES, PHRASES) if fts is None else st.none())
    chosen = ("fts",) if fts else ("embedding",)
    return Retriever(
        name,
        source,
        fts=fts,
        embedding=embedding,
        index_types=draw(st.sampled_from([(), chosen])),
        query=Query(draw(st.sampled_from([None, chosen[0]])), draw(st.integers(1, 100))),
    )


PARTS = st.builds(Part, st.integers(), st.lists(TEXT, max_size=2).map(tuple))


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    names = draw(st.lists(NAMES, min_size=3, max_size=6, unique=True))
    dataset, steps, operators = names[0], names[1:3], names[1:]
    things = tuple(
        Thing(
            name=name,
            prompt=Template(draw(PROMPTS)),
            schema=draw(st.none() | SCHEMAS),
            samples=draw(st.integers()),
            ratio=draw(FLOATS),
            keep=draw(st.booleans()),
            note=draw(st.none() | TEXT),
            keys=tuple(draw(st.lists(TEXT, max_size=2))),
            pairs=tuple(draw(st.lists(st.tuples(TEXT, TEXT), max_size=2))),
            options=freeze(draw(st.dictionaries(NAMES, JSON, max_size=3))),
            part=draw(PARTS),
            other=draw(st.none() | PARTS),
        )
        for name in operators
    )
    chosen = st.lists(st.sampled_from(operators), max_size=3).map(tuple)
    return Plan(
        datasets=(draw(datasets(dataset)),),
        operators=things,
        steps=(Step(steps[0], (dataset,), draw(chosen)), Step(steps[1], (steps[0],), draw(chosen))),
        default_model=draw(TEXT),
        system_prompt=draw(st.builds(SystemPrompt, TEXT, TEXT)),
        output=draw(st.builds(Output, path=TEXT.map("{}.db".format), table=TEXT, intermediate_dir=TEXT)),
        retrievers=tuple(draw(retrievers(name, dataset)) for name in draw(st.lists(NAMES, max_size=2, unique=True))),
        parsing_tools=draw(st.sampled_from([(), (ParsingTool("mine", "def mine(item):\n    return [item]\n"),)])),
        settings=Settings(draw(st.integers(0, 9)), draw(st.floats(0, 2)), draw(st.integers(1, 9))),
    )


@given(plans())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_loading_what_a_plan_writes_gives_the_plan(plan: Plan) -> None:
    loaded = parse_pipeline(to_yaml(plan), registry=REGISTRY).plan
    assert loaded == plan
    assert loaded.digest == plan.digest
    assert hash(loaded) == hash(plan)


@given(st.text(st.sampled_from("abc:-[]{}\n &*!|>'\"#%@`,?0~<"), max_size=60))
@settings(max_examples=300, deadline=None)
def test_any_text_is_a_pipeline_or_a_pipeline_error(text: str) -> None:
    try:
        parse_pipeline(text, registry=REGISTRY)
    except PipelineError as error:
        assert str(error)


@given(plans())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_pipeline_in_python_is_its_yaml(plan: Plan) -> None:
    """YAML -> pipeline -> YAML is the identity, and so is building the same operators by their methods."""
    text = to_yaml(plan)
    with registered():
        frame = Pipeline.from_yaml(text if "\n" in text else f"{text}\n")
        assert frame.plan == plan
        assert frame.to_yaml() == text
        keys = [(node.kind, node.name, keys_of_node(node)) for node in plan.operators]
        built = Pipeline(replace(plan, operators=(), steps=(Step("all", (plan.datasets[0].name,), ()),)), Path.cwd())
        for kind, name, given in keys:
            built = built.with_operator(kind, name, **given)
    assert built.plan.operators == plan.operators
    assert built.plan.steps == (Step("all", (plan.datasets[0].name,), tuple(node.name for node in plan.operators)),)


def keys_of_node(node: Node) -> dict[str, Any]:
    return {key: value for key, value in unbind(node).items() if key != "name"}


@contextmanager
def registered() -> Iterator[None]:
    with ExitStack() as stack:
        for module in (engine.frame.pipeline, engine.frame.signatures, engine.loader):
            stack.enter_context(patch.object(module, "REGISTRY", REGISTRY))
        load = partial(parse_pipeline, registry=REGISTRY)
        stack.enter_context(patch.object(engine.frame.pipeline, "parse_pipeline", load))
        yield
