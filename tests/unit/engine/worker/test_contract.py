"""The contract of worker and window: light to import, answered as it says, and read back as it was written."""

from __future__ import annotations

import importlib
import json
import pkgutil
import subprocess
import sys
import typing
from dataclasses import asdict

import pytest

from engine.executor.events import Event, ModelReady
from engine.worker import contract
from engine.worker.contract.decoding import decoder
from engine.worker.contract.events import KINDS, read_event
from engine.worker.contract.results import PAGE, RowsPage, ShownHeading, ShownRow
from engine.worker.contract.run import OperatorLine, RunProgress
from engine.worker.queries.registry import find_query
from storage.codec import dump_json

MODULES = [f"{contract.__name__}.{module.name}" for module in pkgutil.iter_modules(contract.__path__)]
QUERIES = {
    query.name: query
    for module in map(importlib.import_module, MODULES)
    for query in vars(module).values()
    if isinstance(query, contract.Query)
}


def answer_of(query: contract.Query[object]) -> object:
    return typing.get_args(query.__orig_class__)[0]


def test_it_loads_no_library() -> None:
    code = f"import importlib, sys\nbefore = set(sys.modules)\nfor name in {MODULES}: importlib.import_module(name)\n"
    code += "print(*{name.partition('.')[0] for name in set(sys.modules) - before})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) - sys.stdlib_module_names <= {"engine", "models", "storage"}


@pytest.mark.parametrize("name", sorted(QUERIES))
def test_a_query_is_answered_by_what_the_contract_says(name: str) -> None:
    answered = typing.get_type_hints(find_query(name).answer)["return"]
    assert answered == answer_of(QUERIES[name])
    assert callable(decoder(answered))


def test_rows_are_read_back_as_they_were_written() -> None:
    row = ShownRow("r", 1, ("a", "b"), (1,), (), (), "accepted", "", {"a": "odd"}, is_new=True)
    page = RowsPage(2, 1, (ShownHeading("x", 1, is_folded=False), row))
    assert PAGE.decode(json.loads(dump_json(asdict(page)))) == page


def test_what_may_be_missing_is_none() -> None:
    read = decoder(tuple[OperatorLine, ...] | None)
    assert read(None) is None
    assert read([]) == ()


@pytest.mark.parametrize("body", [{"heading": "x"}, {"heading": "x", "count": 1, "is_folded": True, "more": 1}])
def test_other_keys_than_a_dataclass_has_are_refused(body: dict[str, object]) -> None:
    with pytest.raises(TypeError):
        decoder(ShownHeading)(body)


def test_a_type_that_json_has_no_value_for_is_refused() -> None:
    with pytest.raises(TypeError, match="no JSON becomes"):
        decoder(set[str])


def test_events_are_read_back_as_they_were_written() -> None:
    line = OperatorLine("find", "map", 1, 2, 0, 0, is_finished=False, per_minute=None, left_seconds=1.5)
    progress = RunProgress("1", 1.0, None, 0.5, 1, 2, 0, (line,), 1, 0, 1.0, 2.0, "", "m", 9, (), 0)
    for event in (progress, ModelReady("m", 4096, 1.5)):
        assert read_event(json.loads(event.to_json())) == event


def test_the_window_knows_every_event() -> None:
    assert {kind.__name__ for kind in Event.__subclasses__() if kind.__module__.startswith("engine.")} <= KINDS.keys()
    for kind in KINDS.values():
        assert callable(decoder(kind))
