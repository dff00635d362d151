"""The models that a pipeline asks, and what is used where one of them is not on this machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Protocol

from engine.errors import EnvironmentMissing
from engine.executor.model_pool import TextEmbedder
from engine.executor.settings import RunSettings
from engine.language.binding import parts_of
from engine.language.position import Position
from engine.language.problems import Problem
from engine.loader import Loaded
from engine.plan.node import Node
from engine.plan.plan import Plan
from models.errors import ModelError
from models.protocol import ModelBackend


class Models(Protocol):
    """Opens the models of one run, and knows before it whether they are there."""

    def stand_in(self, name: str, *, is_chosen: bool) -> str:
        """Return the model that is used for `name` because `name` cannot be here; "" when it is used itself.

        `is_chosen`: the user asked for it now, so nothing may stand in. Raises EnvironmentMissing.
        """

    def apply(self, settings: RunSettings) -> None:
        """Ask models where the user said: at the hosts that are allowed, on the cluster that is named.

        Called before a model is looked for. Raises UsageError for a cluster that cannot be one.
        """

    def need_embedder(self) -> None:
        """Raise EnvironmentMissing unless the embedding model is installed."""

    def open_model(self, name: str) -> ModelBackend:
        """Load a model (engine.executor.model_pool.OpenModel)."""

    def open_embedder(self) -> TextEmbedder:
        """Open the embedding model; it loads when it is first used."""


def open_or_say_why(models: Models, name: str) -> tuple[ModelBackend | None, str]:
    """Load a model, the default one where `name` is empty; None and the reason where none can be had."""
    try:
        models.stand_in(name, is_chosen=bool(name))
        return models.open_model(name), ""
    except (EnvironmentMissing, ModelError) as error:
        return None, str(error)


def settled(loaded: Loaded, chosen: str, models: Models) -> Loaded:
    """Check that the models a run will use are there; warn of stand-ins. `chosen` replaces those of the pipeline.

    Raises EnvironmentMissing.
    """
    _settle_embedder(loaded.plan, models)
    stand_ins: dict[str, str] = {}
    if not chosen:
        used = {name: models.stand_in(name, is_chosen=False) for name in model_names(loaded)}
        stand_ins = {name: other for name, other in used.items() if other}
    elif any(_asks(node) for node in _nodes(loaded.plan)):
        models.stand_in(chosen, is_chosen=True)
    plan = replace(loaded.plan, default_model=stand_ins.get(loaded.plan.default_model, loaded.plan.default_model))
    return replace(loaded, plan=plan, warnings=(*loaded.warnings, *stand_in_warnings(loaded, stand_ins)))


def model_problems(loaded: Loaded, models: Models) -> list[Problem]:
    """List as warnings what is used in place of models that are not here, and models that must be installed."""
    stand_ins: dict[str, str] = {}
    missing: dict[str, Problem] = {}
    for name, position in model_names(loaded).items():
        try:
            if other := models.stand_in(name, is_chosen=False):
                stand_ins[name] = other
        except EnvironmentMissing as error:
            missing.setdefault(str(error), _warning(loaded, str(error), position, error.advice))
    try:
        _settle_embedder(loaded.plan, models)
    except EnvironmentMissing as error:
        missing.setdefault(str(error), _warning(loaded, str(error), None, error.advice))
    return [*stand_in_warnings(loaded, stand_ins), *missing.values()]


def stand_in_warnings(loaded: Loaded, stand_ins: Mapping[str, str]) -> Iterator[Problem]:
    """Give one warning per model that is used instead of others, naming them all."""
    for other in dict.fromkeys(stand_ins.values()):
        names = [name for name, used in stand_ins.items() if used == other]
        verb = "is" if len(names) == 1 else "are"
        message = f"the pipeline names {', '.join(names)}, which {verb} not on this machine"
        yield _warning(loaded, f"{message}; the default model {other} is used", model_names(loaded)[names[0]])


def _settle_embedder(plan: Plan, models: Models) -> None:
    retrievers = [retriever for node in _nodes(plan) if (retriever := plan.retriever_of(node))]
    if any(node.traits().embeds for node in _nodes(plan)) or any("embedding" in r.modes for r in retrievers):
        models.need_embedder()


def model_names(loaded: Loaded) -> dict[str, Position | None]:
    """List the models that the pipeline asks, each with the first place that names it."""
    names: dict[str, Position | None] = {}
    for node in _nodes(loaded.plan):
        if model := node.model:
            names.setdefault(model, loaded.positions.operator(node.name, "model"))
        elif _asks(node):
            names.setdefault(loaded.plan.default_model, loaded.positions.nearest(("default_model",)))
        for other in node.other_models:
            names.setdefault(other, _position_of(loaded, node, other))
    return names


def _position_of(loaded: Loaded, node: Node, model: str) -> Position | None:
    """Find where an operator names a model beside its own."""
    path = next((path for path, text in parts_of(node, str) if text == model and "model" in str(path[-1])), ())
    return loaded.positions.operator(node.name, *path)


def _asks(node: Node) -> bool:
    return node.traits().calls_model or node.traits().counts_tokens


def _nodes(plan: Plan) -> Iterator[Node]:
    return (node for step in plan.steps for node in plan.nodes(step))


def _warning(loaded: Loaded, message: str, position: Position | None, advice: str = "") -> Problem:
    return Problem(message, advice, **loaded.positions.place(position), severity="warning")
