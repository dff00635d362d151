"""Answers that come after another case was opened, and are no answers any more: run ids are the same in every case."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, Protocol

Told = ParamSpec("Told")


class HasCase(Protocol):
    """What knows which case is open: the workspace."""

    case: str


def while_open(workspace: HasCase, then: Callable[Told, object]) -> Callable[Told, None]:
    """Return `then` for what is told of the case that is open now; told while another one is open, it is dropped."""
    case = workspace.case

    def told(*values: Told.args, **named: Told.kwargs) -> None:
        if workspace.case == case:
            then(*values, **named)

    return told
