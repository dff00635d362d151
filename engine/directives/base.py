"""What a directive is: where it fits, what it leaves open, and the plan that follows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar, get_args

from engine.directives.prompt_checks import ProposedPrompt, complaints, lost_definitions
from engine.directives.proposals import out_of_range
from engine.errors import PipelineError
from engine.language.binding import bind, unbind
from engine.language.position import Where
from engine.language.templates import Template
from engine.operators.reduce import Reduce
from engine.operators.row_prompts import RowPromptNode
from engine.plan.frozen import FrozenMap
from engine.plan.node import Node
from engine.plan.plan import Plan, Step

N = TypeVar("N", bound=Node)


@dataclass(frozen=True, slots=True)
class Place:
    """Where an operator stands: `index` counts the operators of `step` from 0."""

    step: str
    index: int


@dataclass(frozen=True, slots=True)
class Blocked:
    """A directive does not fit; `reason` says why in words that a report can print."""

    reason: str


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What is known of data and machine beside the plan; what is not known is left at its default.

    `context_tokens` is the model's context, prompt and reply together; `models` the other models that may be asked, the
    best first. `field_tokens` says how long the text in a field typically is. `source_fields` are the fields of
    datasets of which the plan does not tell them. `answers` says of each field of the answers that were seen how they
    look, by its path without numbers (`clauses.text_span`). `matches` are rows of the sample that a join which is
    rewritten has merged. `identifiers` are fields that hold an identifier in every row that was seen: one word with a
    digit. `not_always_there` are fields that some row that was seen does not have, `not_always_text` those in which
    some row has no text.
    """

    context_tokens: int = 8192
    models: tuple[str, ...] = ()
    field_tokens: Mapping[str, int] = FrozenMap({})
    source_fields: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: FrozenMap({}))
    answers: Mapping[str, AnswersSeen] = field(default_factory=lambda: FrozenMap({}))
    matches: Sequence[Mapping[str, Any]] = ()
    identifiers: frozenset[str] = frozenset()
    not_always_there: frozenset[str] = frozenset()
    not_always_text: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class AnswersSeen:
    """How the texts look that were answered in one field: the share that stands word for word in a text, and words."""

    verbatim: float
    words: float


@dataclass(frozen=True)
class Site:
    """Where a directive rewrites an operator, and what is known there."""

    plan: Plan
    place: Place
    facts: Facts

    @property
    def step(self) -> Step:
        """Return the step that runs the operator."""
        return step_of(self.plan, self.place.step)

    @property
    def operator(self) -> Node:
        """Return the operator that is rewritten."""
        return node_at(self.plan, self.place)

    def node(self, kind: type[N]) -> N:
        """Return the operator, of a kind that the directive's `needs` have made sure of."""
        node = self.operator
        assert isinstance(node, kind)
        return node


@dataclass(frozen=True, kw_only=True)
class Params:
    """What a directive leaves open. Subclasses have no defaults: a proposal says everything."""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object that `Directive.read_params` reads back."""
        return unbind(self)


P = TypeVar("P", bound=Params)


class Directive(ABC, Generic[P]):
    """A way to rewrite an operator into others that do the same task.

    Everything here is pure. `name` is the module's; `equation` the paper's number, empty for what came after it;
    `purpose` completes "It ..." in a report. `needs` are the kinds of operator that it rewrites.
    """

    name: ClassVar[str]
    equation: ClassVar[str] = ""
    purpose: ClassVar[str]
    needs: ClassVar[frozenset[str]]
    keeps_definitions: ClassVar[bool] = False
    """Its prompts must together keep the definitions in the prompt of the operator that it rewrites."""
    compares_variants: ClassVar[bool] = False
    """Its variants tell of each other which is right, so they are tried together."""
    explores_sizes: ClassVar[bool] = False
    """Its variants are sizes that only a trial tells apart: all of them are tried, if the minutes suffice."""
    is_settled: ClassVar[bool] = False
    """Its parameters follow from the plan and the answers seen: no model is asked for them."""
    prior: ClassVar[float] = 0.5
    """How likely it helps a small model, 0 to 1; one that only saves time has little."""
    prior_of_long_texts: ClassVar[float] = 0.0
    """What is added to the prior where a list is asked for of a long text: much is overlooked then."""
    params_type: type[P]

    def __init_subclass__(cls) -> None:
        """Take `params_type` from the type that a class is written with: `Directive[SwitchParams]`."""
        for base in getattr(cls, "__orig_bases__", ()):
            if arguments := get_args(base):
                cls.params_type = arguments[0]

    def matches(self, plan: Plan, place: Place, facts: Facts) -> Site | Blocked:
        """Return the site at a place, or say why the operator there is not rewritten."""
        node = node_at(plan, place)
        if node.kind not in self.needs:
            return Blocked(f"{node.name} is {node.kind}, and this rewrites {' and '.join(sorted(self.needs))}")
        site = Site(plan, place, facts)
        reason = self._blocked(site) or shared_reason(plan, node)
        return Blocked(reason) if reason else site

    @abstractmethod
    def _blocked(self, site: Site) -> str:
        """Say why an operator of a kind in `needs` is not rewritten; "" where it is."""

    def params_schema(self, site: Site) -> dict[str, Any]:
        """Return the JSON Schema that holds a model to parameters that are possible here; {} where it is settled."""
        return {}

    @abstractmethod
    def default_params(self, site: Site) -> P:
        """Fill the parameters in from templates and arithmetic, without a model."""

    def variants(self, site: Site) -> Sequence[P]:
        """Return the parameters worth trying without a model, the most promising first: other sizes, other words."""
        return (self.default_params(site),)

    @abstractmethod
    def apply(self, site: Site, params: P) -> Plan:
        """Return the rewritten plan; raises PipelineError for parameters that make no plan."""

    def prompts(self, site: Site, params: P) -> Sequence[ProposedPrompt]:
        """Return the prompts among the parameters with what they must and may say."""
        return ()

    def is_complete(self, site: Site, params: P) -> bool:
        """Say whether a variant is tried as it is: it has its prompts, or needs none; else a model is asked for it."""
        return self.is_settled or any(prompt.text for prompt in self.prompts(site, params))

    def definitions(self, site: Site) -> Template | None:
        """Return the user's prompt whose definitions the proposed prompts together must keep; None for none."""
        node = site.operator
        return node.prompt if self.keeps_definitions and isinstance(node, RowPromptNode | Reduce) else None

    def complaints(self, site: Site, params: P) -> Sequence[str]:
        """Say what is wrong with parameters beyond what all directives are checked for."""
        return ()

    def read_params(self, value: Any) -> P:
        """Read parameters from JSON; raises PipelineError saying which is wrong."""
        return bind(self.params_type, value, Where())

    def check_params(self, site: Site, params: P) -> list[str]:
        """Say in words what a second proposal must do better; nothing where `params` can be applied."""
        try:
            problems = self._found_wrong(site, params)
            if not problems:
                self.apply(site, params)
        except PipelineError as error:  # no operator can have such a value
            return [f"{error} {error.advice}".strip()]
        return problems

    def _found_wrong(self, site: Site, params: P) -> list[str]:
        if wrong := list(out_of_range(params.to_json(), self.params_schema(site))):
            return wrong
        proposed = self.prompts(site, params)
        user = self.definitions(site)
        problems = [line for prompt in proposed for line in complaints(prompt, user)]
        if user and proposed:
            problems += lost_definitions(user, [prompt.text for prompt in proposed])
        return [*problems, *self.complaints(site, params)]

    def describe(self, before: Plan, after: Plan) -> str:
        """Say in words what was rewritten into what, and what for."""
        old, now = ({node.name: node for node in plan.operators} for plan in (before, after))
        gone = [name for name in old if name not in now]
        changed = [name for name, node in now.items() if name in old and node != old[name]]
        new = [f"{name} ({node.kind})" for name, node in now.items() if name not in old]
        differences = (("replaced", gone), ("changed", changed), ("new", new))
        parts = [f"{what}: {', '.join(names)}" for what, names in differences if names]
        return f"It {self.purpose}. {'; '.join(parts)}."


AnyDirective = Directive[Any]


def step_of(plan: Plan, name: str) -> Step:
    """Find a step; raises PipelineError listing the steps there are."""
    for step in plan.steps:
        if step.name == name:
            return step
    raise PipelineError(f"there is no step {name!r}", advice=f"There are: {', '.join(s.name for s in plan.steps)}.")


def node_at(plan: Plan, place: Place) -> Node:
    """Return the operator at a place; raises PipelineError where there is none."""
    names = step_of(plan, place.step).operators
    if not 0 <= place.index < len(names):
        raise PipelineError(f"step {place.step!r} has {len(names)} operators, none at {place.index}")
    return plan.operator(names[place.index])


def places(plan: Plan) -> list[Place]:
    """Return the places of all operators, in the order they run."""
    return [Place(step.name, index) for step in plan.steps for index in range(len(step.operators))]


def shared_reason(plan: Plan, node: Node) -> str:
    """Say why no directive may touch an operator: "" where one may."""
    uses = sum(step.operators.count(node.name) for step in plan.steps)
    if uses > 1:
        return f"{node.name} is used {uses} times; a rewrite of one use would change the others"
    if node.sample is not None:
        return f"{node.name} works on a sample of {node.sample} rows, which other operators would not"
    return ""
