"""How much a template may make: reckoned before it is made, for what it makes would fill memory first.

Each function here raises SecurityError, which names the bound; the template then fails for that row.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

from jinja2.exceptions import SecurityError
from jinja2.filters import do_join, make_attrgetter
from jinja2.nodes import EvalContext
from jinja2.utils import pass_environment, pass_eval_context

MAX_OUTPUT = 20_000_000
"""Characters a prompt, or any text made on the way to it, may have."""
MAX_ITEMS = 2_000_000
"""Items of a list that is made."""
MAX_MADE = 10 * MAX_OUTPUT
"""Characters of all texts and lists together that one rendering makes, for it may keep them all."""
MAX_STEPS = 300_000
"""Loop rounds and macro calls one rendering may take."""
MAX_NUMBER = 100_000
"""The largest number a filter or method may be given (a width, a count)."""
MAX_INDENT = 16
"""Spaces by which JSON may be indented."""

ITEM_COST = 8
"""What an item of a list counts, in characters; a new short text in it as well takes PART_COST."""
PART_COST = 60

_NO_TEXT = frozenset({
    "length", "count", "first", "last", "map", "select", "reject", "selectattr", "rejectattr", "list", "sort",
    "sum", "batch", "groupby", "unique", "min", "max", "attr", "default", "d", "dictsort", "items", "reverse",
    "slice", "round", "abs", "int", "float", "join",
})  # fmt: skip
"""Filters that write no list as text."""
PASSING = frozenset({"first", "last", "default", "d", "attr", "min", "max"})
"""Filters that make nothing: they hand on what is there."""
_LETTERS = frozenset({"list", "sort", "slice", "groupby"})
"""Filters that make a list of the letters of a text."""
TAKING_NUMBERS = frozenset({
    "truncate", "wordwrap", "indent", "replace", "default", "d", "int", "float", "sum", "select", "reject", "map",
    "selectattr", "rejectattr",
})  # fmt: skip
"""Filters that a number of any size may be given: they make no more of it than is bounded elsewhere."""
_SPLITTING = frozenset({"split", "rsplit", "splitlines"})


class Meter:
    """What one rendering has used."""

    def __init__(self) -> None:
        self._steps = 0
        self._made = 0

    def tick(self) -> None:
        """Count a loop round or macro call."""
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise SecurityError(f"the prompt takes more than {MAX_STEPS} loop rounds")

    def add(self, cost: int) -> None:
        """Count what was made."""
        self._made += cost
        if self._made > MAX_MADE:
            raise SecurityError(f"the prompt makes more than {MAX_MADE} characters on the way")

    @contextlib.contextmanager
    def counting(self) -> Iterator[None]:
        """Count what is made in this block."""
        token = _METER.set(self)
        try:
            yield
        finally:
            _METER.reset(token)


_METER: ContextVar[Meter | None] = ContextVar("meter", default=None)


def charged(value: Any) -> Any:
    """Count a value that was made, and return it."""
    meter = _METER.get()
    if meter is not None:
        if isinstance(value, str | bytes):
            meter.add(len(value))
        elif isinstance(value, list | tuple):
            meter.add(ITEM_COST * len(value))
    return value


def measure(value: Any) -> None:
    """Refuse a value of lists and mappings whose text would be huge; the same part may be in it many times."""
    size, waiting = 0, [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str | bytes):
            size += len(part)
        elif isinstance(part, Mapping):
            size += 4 * len(part)
            waiting += [*part.keys(), *part.values()]
        elif isinstance(part, list | tuple | set | frozenset):
            size += 2 * len(part)
            waiting += part if size <= MAX_OUTPUT else ()
        else:
            size += 1
        if size > MAX_OUTPUT:
            raise _too_long()


def joined(separator: str, parts: Iterable[Any], *, strict: bool = False) -> str:
    """Join texts while they are no more than a text may be; others are written as text, unless `strict`."""
    texts: list[str] = []
    size = 0
    for part in parts:
        if not isinstance(part, str):
            if strict:
                raise TypeError(f"join() takes texts, not {type(part).__name__}")
            measure(part)
        texts.append(str(part))
        size += len(texts[-1]) + len(separator)
        if size > MAX_OUTPUT + len(separator) or ITEM_COST * len(texts) > MAX_MADE:
            raise _too_long()
    text: str = charged(separator.join(texts))
    return text


def check_operator(operator: str, left: Any, right: Any) -> None:
    """Refuse `+` and `*` of texts and lists that would make huge ones."""
    sizes = [len(side) if isinstance(side, str | bytes | list | tuple) else None for side in (left, right)]
    most = MAX_ITEMS if isinstance(left, list | tuple) or isinstance(right, list | tuple) else MAX_OUTPUT
    match operator, sizes:
        case "+", [int(first), int(second)]:
            size = first + second
        case "*", [int(length), None]:
            size = length * _number(right)
        case "*", [None, int(length)]:
            size = length * _number(left)
        case _:
            return
    if size > most:
        raise _too_long() if most == MAX_OUTPUT else _too_many()


def check_method(owner: str | bytes, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Refuse a method of a text that would make a huge text or list."""
    if name == "replace" and len(args) >= 2:
        _check_replace(owner, args[0], args[1])
    elif name == "join":
        measure(args[0] if args and isinstance(args[0], list | tuple) else owner)
        _check_size(len(owner) * len(args[0]) if args and isinstance(args[0], list | tuple) else 0)
    elif name in _SPLITTING:
        separator = args[0] if args and name != "splitlines" else kwargs.get("sep")
        is_text = isinstance(separator, type(owner)) and separator
        parts = owner.count(separator) if is_text else len(owner) // 2  # type: ignore[arg-type]
        if PART_COST * (parts + 1) + len(owner) > MAX_MADE:
            raise _too_many()


def check_filter(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Refuse a filter that would make a huge text or list. `args` may begin with what Jinja passes to it."""
    if name not in _NO_TEXT:
        for value in (*args, *kwargs.values()):
            if isinstance(value, Mapping | list | tuple):
                measure(value)
    texts = [value for value in args if isinstance(value, str)]
    text = texts[0] if texts else ""
    match name:
        case "replace" if len(texts) + len(kwargs) >= 2:
            _check_replace(text, *[*texts[1:], *(kwargs[key] for key in ("old", "new") if key in kwargs)][:2])
        case "indent":
            indentation = kwargs.get(
                "width", next((v for v in args if type(v) is int), texts[1] if len(texts) > 1 else 4)
            )
            width = len(indentation) if isinstance(indentation, str) else indentation
            _check_size(len(text) + (len(text.splitlines()) + 1) * _number(width))
        case "wordwrap":
            width = kwargs.get("width", next((v for v in args if type(v) is int), 79))
            between = max(len(str(kwargs.get("wrapstring") or "\n")), *map(len, texts[1:]), 1)
            _check_size(len(text) + (len(text) // max(_number(width), 1) + text.count("\n") + 1) * between)
        case "tojson":
            indent = kwargs.get("indent", args[1] if len(args) > 1 else 0)
            if _number(indent) > MAX_INDENT or isinstance(indent, str):
                raise SecurityError(f"JSON may be indented by {MAX_INDENT} spaces at most")
        case _ if name in _LETTERS and PART_COST * len(text) > MAX_MADE:
            raise _too_many()


def _check_replace(text: Any, old: Any = "", new: Any = "") -> None:
    if isinstance(text, str | bytes) and isinstance(old, type(text)) and isinstance(new, type(text)):
        _check_size(len(text) + text.count(old) * (len(new) - len(old)))  # type: ignore[arg-type]


def _check_size(size: int) -> None:
    if size > MAX_OUTPUT:
        raise _too_long()


def _number(value: Any) -> int:
    return abs(int(value)) if isinstance(value, int | float) else 0


def _too_long() -> SecurityError:
    return SecurityError(f"a text would exceed {MAX_OUTPUT} characters")


def _too_many() -> SecurityError:
    return SecurityError(f"a list would exceed {MAX_ITEMS} items, or {MAX_MADE} characters")


@pass_eval_context
def _join_filter(context: EvalContext, value: Iterable[Any], d: str = "", attribute: str | int | None = None) -> str:
    """Join the items of a list, as Jinja's own filter does."""
    if attribute is not None:
        value = map(make_attrgetter(context.environment, attribute), value)
    if not context.autoescape:
        return joined(str(d), value)
    items = list(value)
    measure(items)
    _check_size(len(items) * len(d))
    return str(do_join(context, items, d))


@pass_environment
def _sum_filter(environment: Any, iterable: Iterable[Any], attribute: str | int | None = None, start: Any = 0) -> Any:
    """Add up the items, as Jinja's own filter does; lists follow each other."""
    if attribute is not None:
        iterable = map(make_attrgetter(environment, attribute), iterable)
    if isinstance(start, str | bytes):
        raise TypeError("sum() cannot add texts; write join")
    if not isinstance(start, list | tuple):
        return sum(iterable, start)
    items = list(start)
    for item in iterable:
        if not isinstance(item, type(start)):
            raise TypeError(f"sum() cannot add {type(item).__name__} to {type(start).__name__}")
        if len(items) + len(item) > MAX_ITEMS:
            raise _too_many()
        items += item
    return type(start)(items)


FILTERS: Mapping[str, Callable[..., Any]] = {"join": _join_filter, "sum": _sum_filter}
"""In place of Jinja's own of these names."""
