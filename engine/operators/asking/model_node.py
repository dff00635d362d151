"""What all operators that ask a model have in common: their keys, checked when the pipeline is read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Literal, final

from engine.errors import PipelineError
from engine.language.common_checks import example_problems, example_prompts, prompt_problems
from engine.language.expressions import Expression
from engine.language.layout import Layout
from engine.language.position import did_you_mean
from engine.language.problems import Finding
from engine.language.templates import Template, show_rows
from engine.operators.base import OnErrorNode, Tools
from engine.plan.frozen import freeze
from engine.plan.node import Traits
from models.protocol import Reply, Sampling

TooLong = Literal["error", "middle_out", "head", "head_tail", "split"]

AGREE_TEMPERATURE = 0.7
"""The temperature of further readings by the same model."""

MOST_READINGS = 25

RETRIES = 2
"""How often an answer that fails `validate` is asked for again, as in DocETL's code (a page of it says 0)."""


@dataclass(frozen=True, kw_only=True)
class Gleaning:
    """Let a model judge the answer and improve it, at most `num_rounds` times (paper section 3.2.1).

    `model` judges, the operator's own where it is None. Where `condition` is false for an answer, it stays as it is.
    """

    validation_prompt: Template = field(metadata={"variables": ("output", "input")})
    num_rounds: int = 1
    model: str | None = None
    condition: Expression | None = field(default=None, metadata={"yaml": "if"})

    def __post_init__(self) -> None:
        if self.num_rounds < 1:
            raise ValueError(f"gleaning.num_rounds must be at least 1, not {self.num_rounds}")
        if not self.validation_prompt.text.strip():
            raise ValueError("gleaning.validation_prompt is empty")

    @property
    def named(self) -> frozenset[str]:
        """Return the fields of the answer that the judge's prompt and the condition name."""
        judged = self.validation_prompt.mentions("output")
        return judged | self.condition.mentions() if self.condition else judged


@dataclass(frozen=True, kw_only=True)
class Agree:
    """Ask `times` times and vote, field by field (engine.operators.asking.agreeing).

    `model` gives the further readings; without it the operator's own does, at `temperature` and with other seeds.
    """

    times: int = 2
    model: str | None = None
    temperature: float = AGREE_TEMPERATURE

    def __post_init__(self) -> None:
        if not 2 <= self.times <= MOST_READINGS:
            raise ValueError(f"agree is a number of readings from 2 to {MOST_READINGS}, not {self.times}")
        if self.model is None and self.temperature <= 0:
            raise ValueError("agree.temperature is above 0: at 0 all readings of one model would be the same")


@dataclass(frozen=True)
class Component:
    """What can be done with questions of a certain form; an operator whose questions have it lists it in `takes`.

    `is_wanted` says whether the keys of a node ask for it; `refusal` and `advice` are what other operators are told.
    """

    is_wanted: Callable[[ModelNode], bool]
    refusal: str
    advice: str

    def check(self, node: ModelNode) -> None:
        """Refuse the keys that ask for it where the operator does not take it."""
        is_possible = self in node.takes or not self.is_wanted(node)
        node.require(is_possible, self.refusal.format(kind=node.kind, layout=node.layout), self.advice)


RETRIEVER = Component(
    lambda node: node.retriever is not None,
    "{kind} cannot ask a retriever: its questions are about several rows at once",
    "Let a map before it ask the retriever and write what is needed into a field.",
)
"""Look something up for a question: each is about one row or group."""

SPLIT = Component(
    lambda node: node.too_long == "split",
    "too_long: split is not possible for {kind}",
    "Use it for map, filter and parallel_map; here: error, middle_out, head or head_tail.",
)
"""Ask part by part where the row is too long (engine.operators.asking.long_inputs): a Question says how (`about`)."""

LAYOUT = Component(
    lambda node: node.layout != "as_written",
    "layout: {layout} is not possible for {kind}: its prompts are laid out already, or show several rows",
    "Leave it out; it is for map, filter, parallel_map, resolve, equijoin and link_resolve.",
)
"""Put whole fields first: the prompts show those of one row or of two."""

AGREE = Component(
    lambda node: node.agree is not None,
    "agree is not possible for {kind}: its questions are about several rows",
    "Use it for map, parallel_map, filter, extract and answer.",
)
"""Compare several answers (engine.operators.asking.agreeing): each question is about one row."""

COMPONENTS = (RETRIEVER, SPLIT, LAYOUT, AGREE)


@dataclass(frozen=True, kw_only=True)
class ModelNode(OnErrorNode):
    """What all operators that ask a model have; None stands for the pipeline's setting. See docs/operators/common.md.

    `takes`: what its questions allow of COMPONENTS. A subclass defines `own_traits`.
    """

    takes: ClassVar[tuple[Component, ...]] = ()

    model: str | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    validate: tuple[Expression, ...] = ()
    num_retries_on_validate_failure: int = RETRIES
    gleaning: Gleaning | None = None
    examples: tuple[Mapping[str, Any], ...] = ()
    retriever: str | None = None
    save_retriever_output: bool = False
    too_long: TooLong = "error"
    layout: Layout = "as_written"
    agree: int | Agree | None = None
    limit: int | None = None
    timeout_seconds: float | None = None
    timeout: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        show_rows(self)
        object.__setattr__(self, "validate", tuple(self.validate))
        object.__setattr__(self, "examples", freeze(self.examples))
        self.require_at_least(max_tokens=1, temperature=0, limit=1, num_retries_on_validate_failure=0)
        for seconds in (self.timeout_seconds, self.timeout):
            self.require(seconds is None or seconds > 0, f"timeout_seconds must be more than 0, not {seconds}")
        timeouts = {self.timeout_seconds, self.timeout} - {None}
        self.require(len(timeouts) < 2, "timeout_seconds and timeout are the same key and have different values")
        for component in COMPONENTS:
            component.check(self)
        self.require(
            bool(self.retriever) or not self.save_retriever_output,
            "save_retriever_output needs a retriever",
            "Write retriever: with the name of one under retrievers.",
        )
        for example in self.examples:
            self._check_example(example)
        if self.agree is not None:
            self._check_agree()

    def require_shown(self, keys: Collection[str], *prompts: tuple[Template | None, str]) -> None:
        """Raise PipelineError for a prompt that reads a field which `input`, the fields `keys` (none: all), leaves out.

        Each prompt comes with the variable through which it reads rows.
        """
        for prompt, variable in prompts:
            lacking = "".join(sorted(prompt.reads(variable) - set(keys))[:1]) if prompt and keys else ""
            message = f"a prompt reads the field {lacking!r}, which input leaves out"
            self.require(not lacking, message, did_you_mean(lacking, keys))

    def _check_agree(self) -> None:
        """Refuse a wrong number of readings, and answers that are counted in another way already."""
        try:
            self.agreement  # noqa: B018 - it checks the number
        except ValueError as error:
            advice = "For example agree: 3, or agree: {times: 2, model: NAME}."
            raise PipelineError(str(error), advice=advice, operator=self.name) from error
        advice = "Remove one of them; {first} counts or shares answers in its own way."
        self.require_alone("agree", self.counted_otherwise, advice)

    @property
    def counted_otherwise(self) -> Mapping[str, bool]:
        """Return the keys by which answers are counted or shared in another way than by `agree`: which are set."""
        return {}

    @property
    def agreement(self) -> Agree | None:
        """Return how several readings are asked for; None for one reading."""
        return Agree(times=self.agree) if isinstance(self.agree, int) else self.agree

    @property
    def agreement_field(self) -> str | None:
        """Return the field that says how far the readings agree; None for one reading."""
        return f"_{self.name_in_fields}_agreement" if self.agree is not None else None

    def _check_example(self, example: Mapping[str, Any]) -> None:
        shape = "For example examples: [{input: {text: ...}, output: {name: ...}}]."
        whole = isinstance(example, Mapping) and isinstance(example.get("output"), Mapping) and len(example) > 1
        self.require(whole, "an example has input and output, each with its fields", shape)
        known = self.answered_fields
        unknown = sorted(set(example["output"]) - set(known)) if known else []
        self.require(
            not unknown,
            f"the output of an example has the field {', '.join(unknown)!r}, which output.schema has not",
            f"Its fields are: {', '.join(known)}.",
        )

    @property
    def answered_fields(self) -> tuple[str, ...]:
        """Return the fields that an example may answer; none where they are not known."""
        return self.schema.names if self.schema else ()

    @property
    def other_models(self) -> tuple[str, ...]:
        """Return the models that are asked beside the operator's own."""
        agree = self.agreement
        named = (self.gleaning and self.gleaning.model, agree and agree.model)
        return tuple(dict.fromkeys(name for name in named if name))

    @property
    def reply_seconds(self) -> float | None:
        """Return how long one reply may take."""
        return self.timeout_seconds if self.timeout_seconds is not None else self.timeout

    @property
    def context_field(self) -> str | None:
        """Return the field that receives what the retriever found; None where it is not kept."""
        return f"_{self.name_in_fields}_retrieved_context" if self.save_retriever_output else None

    def sampling(self, tools: Tools) -> Sampling:
        """Return the pipeline's sampling with what this operator overrides."""
        return Sampling(
            temperature=tools.sampling.temperature if self.temperature is None else self.temperature,
            max_tokens=self.max_tokens or tools.sampling.max_tokens,
        )

    def chosen(self, replies: Sequence[Reply]) -> Reply | None:
        """Return the reply that stands for those about the parts of a text; None where they are put together."""
        return None

    @property
    def common_keys(self) -> dict[str, Any]:
        """Return the keys that all operators have which ask a model, with their values; the name is one."""
        return {f.name: getattr(self, f.name) for f in fields(ModelNode)}

    def problems(self) -> Iterator[Finding]:
        """Say which keys have no effect, and what is wrong with validate, prompts and examples."""
        keys = ("validate", "gleaning", "examples", "retriever")
        for key in keys if not self.traits().calls_model else ():
            if getattr(self, key):
                yield Finding((key,), f"{key} has no effect: this operator asks no model", f"Remove {key}.", "warning")
        if self.validate and self.traits().calls_model and self.judged_fields is None:
            message = f"validate is not possible for {self.kind}: here the model only compares, and writes no fields"
            yield Finding(("validate",), message, "Put a filter with a condition behind it, such as input.score > 1.")
        yield from prompt_problems(self)
        yield from example_problems("examples", self.examples, self.prompts_of)

    def prompts_of(self, example: Mapping[str, Any]) -> Sequence[Template]:
        """Return the prompts that an example, or a reviewed row, may be laid out with."""
        return example_prompts(self)

    def own_traits(self) -> Traits:
        """Say what the operator reads, writes and removes, these keys apart."""
        raise TypeError(f"{type(self).__name__} must define own_traits()")

    @final
    def traits(self) -> Traits:
        """Complete the operator's own by what these keys read and write.

        A retriever's own query reads of the row what it likes.
        """
        traits, judge = self.own_traits(), self.gleaning and self.gleaning.validation_prompt
        judged = self.judged_fields
        beside = frozenset[str]() if judged is None else self._names_read("output") - frozenset(judged)
        is_unknown = self.retriever is not None or bool(judge and judge.reads_unknown)
        return replace(
            traits,
            reads=traits.reads | self._names_read("input") | beside,
            writes=traits.writes | {name for name in (self.context_field, self.agreement_field) if name},
            reads_unknown=traits.reads_unknown or is_unknown or any(e.reads_unknown for e in self._expressions),
        )

    @property
    def _expressions(self) -> tuple[Expression, ...]:
        condition = self.gleaning.condition if self.gleaning else None
        return (*self.validate, condition) if condition else self.validate

    def _names_read(self, variable: str) -> frozenset[str]:
        """Return the fields that expressions and the gleaning prompt name through a variable."""
        judged = self.gleaning.validation_prompt.reads(variable) if self.gleaning else frozenset[str]()
        return judged.union(*(expression.fields(variable) for expression in self._expressions))
