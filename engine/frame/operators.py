"""One method per registered operator. Their signatures are in the stub beside this file, made by engine.frame.stub."""

from __future__ import annotations

import inspect
from functools import cached_property
from types import MethodType

from engine.operators.registry import REGISTRY


class OperatorMethod:
    """The method of one operator; its module is imported when it is first called or looked at."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __get__(self, instance, owner=None):
        """Bind to a pipeline."""
        return self if instance is None else MethodType(self, instance)

    def __call__(self, pipeline, *arguments, **keys):
        """Return a new pipeline with the operator at its end."""
        return pipeline.with_operator(self.kind, *arguments, **keys)

    @property
    def __name__(self):
        return self.kind

    @cached_property
    def __doc__(self):
        from engine.frame.signatures import keys_of  # noqa: PLC0415 - loads the operator

        lines = [f"    {key.name}: {', '.join(key.inner)}" for key in keys_of(self.kind) if key.inner]
        inner = "\n\nInside:\n\n" + "\n".join(lines) if lines else ""
        return (inspect.getdoc(REGISTRY[self.kind].node_type) or "") + inner

    @cached_property
    def __signature__(self):
        from engine.frame.signatures import REQUIRED, joins_two, keys_of  # noqa: PLC0415

        kinds = inspect.Parameter
        first = ["self", "right"] if joins_two(REGISTRY[self.kind]) else ["self"]
        parameters = [kinds(name, kinds.POSITIONAL_OR_KEYWORD) for name in first]
        parameters.append(kinds("name", kinds.POSITIONAL_OR_KEYWORD, default=None, annotation="str | None"))
        for key in keys_of(self.kind):
            default = kinds.empty if key.default == REQUIRED else _Shown(key.default)
            parameters.append(kinds(key.name, kinds.KEYWORD_ONLY, default=default, annotation=key.type))
        return inspect.Signature(parameters, return_annotation="Pipeline")


class _Shown(str):
    """A default as it is written."""

    __slots__ = ()
    __repr__ = str.__str__


class OperatorMethods:
    """A method per operator, by its `type`."""


for _kind in REGISTRY:
    setattr(OperatorMethods, _kind, OperatorMethod(_kind))
