"""A query of the worker, with the type of its answer."""

from __future__ import annotations

import typing
from typing import Any, Generic, TypeVar

from engine.worker.contract.decoding import decoder

Answer_co = TypeVar("Answer_co", covariant=True)


class Query(Generic[Answer_co]):
    """A query by its name; the brackets say what answers it: `RUNS = Query[list[RunEntry]]("results.runs")`."""

    __orig_class__: Any  # Python sets it on what is made with brackets

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"Query({self.name!r})"

    def decode(self, answer: Any) -> Answer_co:
        """Return the answer that a line of JSON holds."""
        answered: Answer_co = decoder(typing.get_args(self.__orig_class__)[0])(answer)
        return answered
