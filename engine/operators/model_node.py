"""What all operators that ask a model have in common: their keys, checked when the pipeline is read."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

from engine.language.expressions import Expression
from engine.language.layout import Layout
from engine.language.schema import Schema
from engine.language.templates import Template, show_rows
from engine.operators.accounting import require
from engine.operators.base import Tools
from engine.operators.error_keys import OnErrorNode
from engine.plan.frozen import freeze
from engine.plan.node import Traits
from engine.rows import Row
from models.protocol import Sampling

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


@dataclass(frozen=True, kw_only=True)
class Agree:
    """Ask `times` times and vote, field by field (engine.operators.agreeing).

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


@dataclass(frozen=True, kw_only=True)
class ModelNode(OnErrorNode):
    """What all operators that ask a model have; None stands for the pipeline's setting. See docs/operators/common.md.

    `limit_counts`: `limit` counts the work items that are begun, or the rows that are kept (filter).
    `splits_long_inputs`: its Questions can be asked about a part of the row, so `too_long: split` is possible.
    `retrieves`: its Questions are about one row or group, so a retriever can look something up for it.
    `agrees`: its Questions are about one row, whose answers can be compared.
    `lays_out`: its prompts show whole fields of one row or of two, which `layout` can put first.
    """

    limit_counts: ClassVar[Literal["begun", "kept"]] = "begun"
    splits_long_inputs: ClassVar[bool] = False
    retrieves: ClassVar[bool] = False
    lays_out: ClassVar[bool] = False
    agrees: ClassVar[bool] = False

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

    def __init_subclass__(cls) -> None:
        """Complete the traits of every operator by what these keys read and write."""
        super().__init_subclass__()
        if "traits" in vars(cls):
            cls.traits = _completed(cls.traits)  # type: ignore[assignment, method-assign]

    def __post_init__(self) -> None:
        super().__post_init__()
        show_rows(self)
        object.__setattr__(self, "validate", tuple(self.validate))
        object.__setattr__(self, "examples", freeze(self.examples))
        for name, least in (
            ("max_tokens", 1),
            ("temperature", 0),
            ("limit", 1),
            ("num_retries_on_validate_failure", 0),
        ):
            value = getattr(self, name)
            require(self, value is None or value >= least, f"{name} must be at least {least}, not {value}")
        for seconds in (self.timeout_seconds, self.timeout):
            require(self, seconds is None or seconds > 0, f"timeout_seconds must be more than 0, not {seconds}")
        given = {self.timeout_seconds, self.timeout} - {None}
        require(self, len(given) < 2, "timeout_seconds and timeout are the same key and have different values")
        require(
            self,
            self.retriever is None or self.retrieves,
            f"{self.kind} cannot ask a retriever: its questions are about several rows at once",
            "Let a map before it ask the retriever and write what is needed into a field.",
        )
        require(
            self,
            bool(self.retriever) or not self.save_retriever_output,
            "save_retriever_output needs a retriever",
            "Write retriever: with the name of one under retrievers.",
        )
        require(
            self,
            self.too_long != "split" or self.splits_long_inputs,
            f"too_long: split is not possible for {self.kind}",
            "Use it for map, filter and parallel_map; here: error, middle_out, head or head_tail.",
        )
        require(
            self,
            self.layout == "as_written" or self.lays_out,
            f"layout: {self.layout} is not possible for {self.kind}: its prompts are laid out already, or show several "
            "rows",
            "Leave it out; it is for map, filter, parallel_map, resolve, equijoin and link_resolve.",
        )
        for example in self.examples:
            self._check_example(example)
        self._check_agree()

    def _check_agree(self) -> None:
        """Refuse agree where answers cannot be compared row by row, or are counted in another way already."""
        if self.agree is None:
            return
        require(
            self,
            self.agrees,
            f"agree is not possible for {self.kind}: its questions are about several rows",
            "Use it for map, parallel_map, filter and extract.",
        )
        try:
            self.agreement  # noqa: B018 - it checks the number
        except ValueError as error:
            require(self, False, str(error), "For example agree: 3, or agree: {times: 2, model: NAME}.")
        others = {"output.n": getattr(self, "samples", 1) > 1, "output.probabilities": bool(self._probabilities)}
        others |= {"correct_lean": getattr(self, "correct_lean", "none") != "none"}
        others |= {key: bool(getattr(self, key, None)) for key in ("batch_prompt", "batch_prompts", "readings")}
        both = [key for key, given in others.items() if given]
        require(
            self,
            not both,
            f"agree and {', '.join(both)} cannot be combined",
            f"Remove one of them; {both[0] if both else ''} counts or shares answers in its own way.",
        )

    @property
    def _probabilities(self) -> Mapping[str, str]:
        found: Mapping[str, str] = getattr(self, "probabilities", None) or {}
        return found

    @property
    def agreement(self) -> Agree | None:
        """Return how several readings are asked for; None for one reading."""
        return Agree(times=self.agree) if isinstance(self.agree, int) else self.agree

    @property
    def agreement_field(self) -> str | None:
        """Return the field that says how far the readings agree; None for one reading."""
        return f"_{self.name}_agreement" if self.agree is not None else None

    def _check_example(self, example: Mapping[str, Any]) -> None:
        shape = "For example examples: [{input: {text: ...}, output: {name: ...}}]."
        whole = isinstance(example, Mapping) and isinstance(example.get("output"), Mapping) and len(example) > 1
        require(self, whole, "an example has input and output, each with its fields", shape)
        known = self.answered_fields
        unknown = sorted(set(example["output"]) - set(known)) if known else []
        require(
            self,
            not unknown,
            f"the output of an example has the field {', '.join(unknown)!r}, which output.schema has not",
            f"Its fields are: {', '.join(known)}.",
        )

    @property
    def answered_fields(self) -> tuple[str, ...]:
        """Return the fields that an example may answer; none where they are not known."""
        schema: Schema | None = getattr(self, "schema", None)
        return schema.names if schema else ()

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
        return f"_{self.name}_retrieved_context" if self.save_retriever_output else None

    def sampling(self, tools: Tools) -> Sampling:
        """Return the pipeline's sampling with what this operator overrides."""
        return Sampling(
            temperature=tools.sampling.temperature if self.temperature is None else self.temperature,
            max_tokens=self.max_tokens or tools.sampling.max_tokens,
        )

    def work_items(self, rows: Sequence[Row]) -> Sequence[Sequence[Row]]:
        """Give what `limit` counts: the rows one by one, or the groups of an operator that makes a row of each."""
        return [[row] for row in rows]


def _completed(traits: Callable[[Any], Traits]) -> Callable[[Any], Traits]:
    @functools.wraps(traits)
    def completed(node: ModelNode) -> Traits:
        own = traits(node)
        written = {name for name in (node.context_field, node.agreement_field) if name}
        return replace(
            own,
            reads=own.reads | _reads(node),
            writes=own.writes | written,
            reads_unknown=own.reads_unknown or _reads_unknown(node),
        )

    return completed


def _reads(node: ModelNode) -> frozenset[str]:
    """Return the fields of the rows that expressions and the gleaning prompt name, as `input` or through `output`."""
    schema: Schema | None = getattr(node, "schema", None)
    answer = frozenset(schema.names) if schema else None
    return frozenset(
        name
        for variable, names in _named(node)
        for name in (names if variable == "input" else names - answer if answer is not None else ())
    )


def _reads_unknown(node: ModelNode) -> bool:
    """Say whether fields may be read that nobody names; a retriever's own query reads of the row what it likes."""
    prompt = node.gleaning and node.gleaning.validation_prompt
    if node.retriever is not None or (prompt and prompt.reads_unknown):
        return True
    return any(expression.reads_unknown for expression in _expressions(node))


def _expressions(node: ModelNode) -> tuple[Expression, ...]:
    condition = node.gleaning.condition if node.gleaning else None
    return (*node.validate, condition) if condition else node.validate


def _named(node: ModelNode) -> Iterator[tuple[str, frozenset[str]]]:
    for expression in _expressions(node):
        yield from ((variable, expression.fields(variable)) for variable in ("input", "output"))
    if node.gleaning:
        yield from ((variable, node.gleaning.validation_prompt.reads(variable)) for variable in ("input", "output"))
