"""The queries there are: found by name, their arguments checked against the function that answers them."""

from __future__ import annotations

import importlib
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, ParamSpec, TypeVar

from engine.errors import UsageError
from engine.language.position import did_you_mean
from engine.worker import contract
from engine.worker.queries.desk import Desk
from engine.worker.typed_json import read_object

LaneName = Literal["read", "edit", "slow", "long"]
"""Where a query is answered: `read` looks things up in milliseconds, `edit` makes a short change, one at a time,
`slow` may take seconds (drawing a page, looking at the machine), and `long` minutes (installing a model), one at a
time."""

_GROUPS = (
    "answers", "ask", "build", "care", "case", "charts", "doctor", "documents", "ingest", "ledger", "models", "names",
    "network", "offline", "pages", "pipelines", "queue", "results", "reviews", "run", "sample", "search", "settings",
    "timeline",
)  # fmt: skip
GROUPS: Mapping[str, str] = types.MappingProxyType({group: f"engine.worker.queries.{group}" for group in _GROUPS})
"""First part of a query's name -> its module, imported when it is first asked."""

_FILES: Mapping[str, str] = types.MappingProxyType(
    {f"pipelines.{name}": "engine.worker.queries.pipeline_files" for name in ("list", "open", "save", "rename")}
)
"""Queries that stand in another module than their group, so that they need not wait for all that the others read."""

Answer = TypeVar("Answer", bound=Callable[..., Any])
Given = ParamSpec("Given")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Query:
    """One query: `answer` takes the desk and the arguments by name, and returns what JSON or a dataclass can hold.

    An answer that begins with `case` takes a case in place of the desk: that of the argument `case`, open for writing
    in the lane `edit`, else for reading.
    """

    name: str
    lane: LaneName
    answer: Callable[..., Any]

    @property
    def is_of_case(self) -> bool:
        """Say whether it takes a case in place of the desk."""
        return next(iter(inspect.signature(self.answer).parameters)) == "case"

    def keys(self) -> dict[str, tuple[Any, bool]]:
        """Return what may be given: the type of each key, and whether it must be there."""
        hints = typing.get_type_hints(self.answer)
        parameters = inspect.signature(self.answer).parameters.values()
        own = {p.name: (hints[p.name], p.default is p.empty) for p in parameters if p.kind is p.KEYWORD_ONLY}
        return {"case": (str, True), **own} if self.is_of_case else own

    def ask(self, desk: Desk, given: Mapping[str, Any]) -> Any:
        """Return the answer; raises a StorageError where it is about a case that cannot be opened."""
        if not self.is_of_case:
            return self.answer(desk, **given)
        others = {key: value for key, value in given.items() if key != "case"}
        if self.lane != "edit":
            return self.answer(desk.reading(given["case"]), **others)
        with desk.writing(given["case"]) as case:
            return self.answer(case, **others)


_queries: dict[str, Query] = {}


@typing.overload
def query(
    asked: contract.Query[Result], *, lane: LaneName = "read"
) -> Callable[[Callable[Given, Result]], Callable[Given, Result]]: ...
@typing.overload
def query(asked: str, *, lane: LaneName = "read") -> Callable[[Answer], Answer]: ...
def query(asked: str | contract.Query[Any], *, lane: LaneName = "read") -> Callable[[Any], Any]:
    """Register the function below as the answer to `asked`; its keyword-only parameters are the query's arguments.

    So is the case that it begins with, where it does (see Query).
    A parameter may be text, a number, a boolean, a choice (Literal), a tuple of these, None, or a frozen dataclass of
    them; what has no default must be given. A query of the contract says what the function must return.
    """
    name = asked if isinstance(asked, str) else asked.name

    def register(answer: Any) -> Any:
        _queries[name] = Query(name, lane, answer)
        return answer

    return register


def is_loaded(name: str) -> bool:
    """Say whether `find_query` would answer at once, for the module of this query has been read, or there is none."""
    return name in _queries or _module_of(name) is None


def _module_of(name: str) -> str | None:
    return _FILES.get(name) or GROUPS.get(name.partition(".")[0])


def find_query(name: str) -> Query:
    """Return a query by its name, and read its module first; raises UsageError naming those there are."""
    group = name.partition(".")[0]
    if (module := _module_of(name)) is not None:
        importlib.import_module(module)
    if name not in _queries:
        known = sorted(q for q in _queries if q.startswith(f"{group}.")) or [f"{other}.…" for other in GROUPS]
        raise UsageError(f"unknown query {name!r}", advice=did_you_mean(name, known))
    return _queries[name]


def arguments(asked: Query, given: Mapping[str, Any]) -> dict[str, Any]:
    """Check what a query was given; return its arguments by name. Raises UsageError."""
    keys = asked.keys()
    wanted = {key: is_needed for key, (_, is_needed) in keys.items()}
    return read_object(asked.name, wanted, {key: hint for key, (hint, _) in keys.items()}, given)
