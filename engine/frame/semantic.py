"""`df.semantic`: the operators on a DataFrame of pandas.

    import engine.frame.semantic
    df.semantic.map(prompt="{{ input.text }} Who?", output={"schema": {"who": "string"}})

Importing this module registers the accessor. Each operator runs at once and returns a new DataFrame.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from engine.errors import EnvironmentMissing, UsageError
from engine.frame.pipeline import Pipeline, RunChoices
from engine.frame.readers import from_list
from engine.frame.signatures import joins_two
from engine.language.position import did_you_mean
from engine.operators.registry import REGISTRY

try:
    import pandas  # type: ignore[import-not-found,import-untyped,unused-ignore]
except ImportError as missing:
    raise EnvironmentMissing("df.semantic needs pandas", advice="Install it: `pip install pandas`.") from missing

NAME = "semantic"
ALIASES = {"merge": "equijoin"}
"""What DocETL's accessor calls an operator."""

RUN_KEYS = frozenset(RunChoices.__annotations__)
"""Keywords of a method that go to the run, not to the operator: case, model, trust_code, allow_hosts.

`model` goes to the run, where it replaces the model of the operator."""


@pandas.api.extensions.register_dataframe_accessor(NAME)
class SemanticAccessor:
    """A method per operator; those with two inputs take the right DataFrame first. `pipeline()` gives a pipeline."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def pipeline(self) -> Pipeline:
        """Return a pipeline over the rows, to which several operators can be added before it runs."""
        return from_list(self._frame.to_dict("records"))

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *REGISTRY]

    def __getattr__(self, name: str) -> Callable[..., Any]:
        kind = ALIASES.get(name, name)
        if kind not in REGISTRY:
            raise AttributeError(f"there is no operator {name!r}. {did_you_mean(name, REGISTRY)}")

        def operate(*arguments: Any, **keys: Any) -> Any:
            run = {key: keys.pop(key) for key in RUN_KEYS & keys.keys()}
            if joins_two(REGISTRY[kind]) and not (arguments and isinstance(arguments[0], pandas.DataFrame)):
                raise UsageError(f"{kind} joins two DataFrames", advice=f"Write df.semantic.{kind}(other, ...).")
            made = _operated(kind, self._frame, arguments, keys).to_pandas(**run)
            if len(made):
                return made
            # Without a row nothing says which columns there are but a row of the frame, which may have none either.
            shown = _operated(kind, _with_a_row(self._frame), tuple(map(_with_a_row, arguments)), keys)
            return pandas.DataFrame(columns=list(shown.schema()))

        return operate


def _operated(kind: str, frame: Any, arguments: tuple[Any, ...], keys: Mapping[str, Any]) -> Pipeline:
    """Return a pipeline of one operator over the rows of a frame, and of the right one where it joins two."""
    if joins_two(REGISTRY[kind]):
        arguments = (from_list(arguments[0].to_dict("records"), name="right"), *arguments[1:])
    return from_list(frame.to_dict("records")).with_operator(kind, *arguments, **keys)


def _with_a_row(value: Any) -> Any:
    """Return a frame of the same columns with one row of nulls; what is no frame stays."""
    if not isinstance(value, pandas.DataFrame):
        return value
    return pandas.DataFrame([dict.fromkeys(value.columns)], columns=value.columns)
