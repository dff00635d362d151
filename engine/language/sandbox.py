"""The sandbox that prompts are rendered in: no code, no files, and a bound on work and size.

Documents and pipelines from others are untrusted. Jinja's sandbox keeps templates away from Python;
the bounds here keep them from filling memory or never ending. What a step would make is reckoned before it is made
(engine.language.bounds), and all that one rendering makes is counted together.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import BuiltinMethodType, MethodType
from typing import Any

from jinja2 import StrictUndefined, Undefined, nodes
from jinja2.exceptions import SecurityError, TemplateError
from jinja2.runtime import Context, LoopContext, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace
from jinja2.visitor import NodeTransformer

from engine.language import bounds
from engine.language.bounds import MAX_NUMBER, MAX_OUTPUT
from engine.text import likeness
from engine.text.name_finder import NameFinder, about
from engine.text.normalise import plain
from engine.text.person_names import recognise_name
from engine.text.sentences import sentences

TICK = "redwell_tick"
JOIN = "redwell_join"
SHOWN = "redwell shown"
"""A filter that no template can name, for names have no spaces."""

FAULTS = (
    TemplateError,
    TypeError,
    ValueError,
    ArithmeticError,
    LookupError,
    AttributeError,
    RecursionError,
    MemoryError,
    NotImplementedError,
)
"""What a template or an expression of a pipeline can provoke on strange data; each becomes a failed row."""

_REMOVED_FILTERS = ("center", "format", "xmlattr", "urlize", "pprint", "random", "filesizeformat", "forceescape")
_REMOVED_METHODS = frozenset({"format", "format_map", "center", "ljust", "rjust", "zfill", "expandtabs", "translate"})
_METHODS = (BuiltinMethodType, MethodType)
_TAKING_NUMBERS = (str, bytes, Mapping, list, tuple, LoopContext)
"""What has methods that make no more of a number than there is."""
_REMOVED_GLOBALS = ("lipsum", "cycler", "joiner")


class Shown(str):
    """The text of a value, as a prompt shows it, that remembers what it is the value of: a path such as `input.text`.

    Jinja hands on what an expression gives piece by piece, so this arrives where nothing else is done with it. Wherever
    the template goes on working with it (a macro, a filter block), plain text is left.
    """

    path: tuple[str, ...]

    def __str__(self) -> str:
        return self


class FieldUndefined(StrictUndefined):
    """A missing field: using it in any way is an error that lists the fields there are."""

    __slots__ = ()

    @property
    def _undefined_message(self) -> str:
        if isinstance(self._undefined_obj, Mapping):
            fields = ", ".join(map(str, self._undefined_obj)) or "none"
            return f"there is no field {self._undefined_name!r}; the fields there are: {fields}"
        return super()._undefined_message


class Uncalled(FieldUndefined):
    """A method that is read and not called: in any use but a call it is missing, for a field of its name is meant."""

    __slots__ = ("method",)

    def __init__(self, method: Callable[..., Any], obj: Any, name: str) -> None:
        super().__init__(obj=obj, name=name)
        self.method = method

    @property
    def _undefined_message(self) -> str:
        if isinstance(self._undefined_obj, Mapping):
            return super()._undefined_message
        return f"{self._undefined_name} is called with brackets: {self._undefined_name}()"


def names_person(text: Any, person: Any) -> bool:
    """Say whether a text names a person under any form; the filter of that name in templates and conditions.

    False when `person` is no person's name. See engine.text.person_names for the forms.
    """
    name = recognise_name(person) if isinstance(person, str) else None
    return name is not None and bool(NameFinder(plain(str(text)), misread=True).find(name))


def is_person(value: Any) -> bool:
    """Say whether a text reads as one person's name: 'Sgt. A. Diaz', 'DIAZ, ANA #4417'; the filter of that name."""
    return isinstance(value, str) and recognise_name(value) is not None


def sentences_about(text: Any, person: Any) -> str:
    """Return the sentences of a text that name a person, under any form, and the one after each; a line for each.

    The filter of that name in templates: `text | sentences_about(officer)`. All sentences where none names the person.
    """
    return "\n".join(about(person, [s.text for s in sentences(str(text).split("\n"))]))


def around(text: Any, passage: Any, sentences_each_side: int = 1) -> str:
    """Return the sentences of a text that a passage stands in, with their neighbours, a space between.

    The filter of that name in templates: `text | around(quote)` or `text | around(quote, 2)`. Case and white space do
    not matter, words must be whole; of several places the first counts, a whole sentence before a part of one. The
    passage alone when the text does not hold it; nothing when the passage is null.
    """
    if type(sentences_each_side) is not int or sentences_each_side < 0:
        raise ValueError(f"around() takes a whole number of sentences from 0 on, not {sentences_each_side!r}")
    if not isinstance(passage, str):
        return ""
    texts = [s.text for s in sentences(str(text).split("\n"))]
    span = (texts.index(passage),) * 2 if passage in texts else _standing_in(texts, passage)
    if span is None:
        return passage
    return " ".join(texts[max(0, span[0] - sentences_each_side) : span[1] + sentences_each_side + 1])


def _standing_in(texts: Sequence[str], passage: str) -> tuple[int, int] | None:
    """Return the first and last of the texts, read one after the other, that a passage stands in."""
    words = " ".join(passage.casefold().split())
    read = [" ".join(text.casefold().split()) + " " for text in texts]
    place = re.search(rf"(?<!\w){re.escape(words)}(?!\w)", "".join(read)) if words else None
    if place is None:
        return None
    ends = list(itertools.accumulate(map(len, read)))
    return bisect.bisect_right(ends, place.start()), bisect.bisect_right(ends, place.end() - 1)


class PromptEnvironment(ImmutableSandboxedEnvironment):
    """Jinja2 without loaders, with strict fields, JSON output and bounds."""

    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self, **options: Any) -> None:
        super().__init__(undefined=FieldUndefined, finalize=_bounded_text, autoescape=False, cache_size=0, **options)
        for name in _REMOVED_FILTERS:
            self.filters.pop(name, None)
        for name in _REMOVED_GLOBALS:
            self.globals.pop(name, None)
        filters: dict[str, Callable[..., Any]] = {
            "tojson": to_json,
            "names_person": names_person,
            "is_person": is_person,
            "around": around,
            "sentences_about": sentences_about,
        }
        usual: dict[str, Callable[..., Any]] = {**self.filters, **bounds.FILTERS, **filters, **likeness.FILTERS}
        self.filters = {name: _guard(name, function) for name, function in usual.items()}
        self.filters[JOIN] = _join
        self.filters[SHOWN] = _shown

    def concat(self, parts: Iterable[str]) -> str:
        """Put the pieces of a block, a macro or a call together."""
        return bounds.joined("", parts)

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Read a field; a field wins over a method of the same name (`input.items`), which can only be called."""
        if isinstance(obj, Mapping) and attribute in obj:
            return obj[attribute]
        value = super().getattr(obj, attribute)
        return Uncalled(value, obj, attribute) if isinstance(value, _METHODS) else value

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Read a field or an item; `input["items"]` is `input.items`."""
        if isinstance(obj, Mapping) and isinstance(argument, str):
            return self.getattr(obj, argument)
        return super().getitem(obj, argument)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Refuse Python internals, and methods that make text of any length."""
        return attr not in _REMOVED_METHODS and super().is_safe_attribute(obj, attr, value)

    def wrap_str_format(self, value: Any) -> None:
        """Leave `str.format` to `is_safe_attribute`, which refuses it: its widths are not bounded."""

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805
        """Call a method or macro with bounded arguments and result."""
        if isinstance(__obj, Uncalled):
            __obj = __obj.method
        owner = getattr(__obj, "__self__", None)
        keeps_them = isinstance(__obj, Macro | LoopContext) or __obj is dict or __obj is Namespace
        takes_numbers = keeps_them or isinstance(owner, _TAKING_NUMBERS)
        _bound_arguments((owner, *args, *kwargs.values()), takes_numbers=takes_numbers)
        if isinstance(owner, str | bytes):
            name = __obj.__name__
            if name == "join" and len(args) == 1 and not kwargs and isinstance(owner, str):
                return bounds.joined(owner, args[0], strict=True)
            bounds.check_method(owner, name, args, kwargs)
        result = _bounded(super().call(__context, __obj, *args, **kwargs))
        is_counted = isinstance(__obj, Macro) or isinstance(owner, Mapping | list | tuple)  # or was there before
        return result if is_counted else bounds.charged(result)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Compute `+ * ** %` unless the result would be huge."""
        if operator == "**" and _magnitude(right) > 64:
            raise SecurityError("the exponent is larger than 64")
        if operator == "%" and isinstance(left, str | bytes):
            raise SecurityError("text formatting with % is not available in prompts")
        bounds.check_operator(operator, left, right)
        return bounds.charged(_bounded(super().call_binop(context, operator, left, right)))


class Bounds(NodeTransformer):
    """Count every loop round and macro call, and bound `~`, by rewriting the parsed template."""

    def visit_For(self, node: nodes.For | nodes.Macro) -> nodes.For | nodes.Macro:  # noqa: N802
        """Count rounds, of recursive loops also, and calls of macros."""
        self.generic_visit(node)
        node.body.insert(0, _tick(node.lineno))
        return node

    visit_Macro = visit_For  # noqa: N815

    def visit_Concat(self, node: nodes.Concat) -> nodes.Filter:  # noqa: N802
        """Join through a bounded filter, which also writes lists as JSON."""
        self.generic_visit(node)
        parts = nodes.List(node.nodes, lineno=node.lineno)
        return nodes.Filter(parts, JOIN, [], [], None, None, lineno=node.lineno)


class FieldsShown(NodeTransformer):
    """Mark the values that a template writes as they are: `{{ input.text }}`, not what it computes with them.

    `variables` are those of the operator; one that the template itself sets (`{% set %}`, a loop) is left out.
    """

    def __init__(self, tree: nodes.Template, variables: Collection[str]) -> None:
        given_anew = {name.name for name in tree.find_all(nodes.Name) if name.ctx != "load"}
        self._variables = frozenset(variables) - given_anew - {macro.name for macro in tree.find_all(nodes.Macro)}
        self.paths: list[tuple[str, ...]] = []

    def visit_Output(self, node: nodes.Output) -> nodes.Output:  # noqa: N802
        """Mark the expressions of one run of text."""
        node.nodes = [self._marked(child) for child in node.nodes]
        return node

    def _marked(self, node: nodes.Expr) -> nodes.Expr:
        path = _path(node)
        if not path or path[0] not in self._variables:
            return node
        self.paths.append(path)
        names = nodes.List([nodes.Const(name) for name in path])
        return nodes.Filter(node, SHOWN, [names], [], None, None, lineno=node.lineno)


def _path(node: nodes.Node | None) -> tuple[str, ...]:
    """Return what an expression reads, if it does nothing else (but for `trim` and `default`); else nothing."""
    match node:
        case nodes.Name(name=name, ctx="load"):
            return (name,)
        case nodes.Getattr(node=owner, attr=name) | nodes.Getitem(node=owner, arg=nodes.Const(value=str() as name)) if (
            path := _path(owner)
        ):
            return (*path, name)
        case nodes.Filter(node=inner, name="trim" | "default" | "d"):
            return _path(inner)
    return ()


def to_prompt_text(value: Any) -> Any:
    """Write a value as a prompt shows it: text as it is, everything else as compact JSON."""
    return value if isinstance(value, str | Undefined) else to_json(value)


def to_json(value: Any, indent: int | None = None) -> str:
    """Write JSON with letters as they are and, unlike Jinja's own filter, no HTML escapes."""
    separators = (",", ":") if indent is None else None
    return json.dumps(value, ensure_ascii=False, separators=separators, indent=indent, default=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Undefined):
        str(value)  # raises the error that names the field
    if isinstance(value, Sequence) or hasattr(value, "__iter__"):
        return list(value)
    return str(value)


def _tick(lineno: int) -> nodes.ExprStmt:
    name = nodes.Name(TICK, "load", lineno=lineno)
    return nodes.ExprStmt(nodes.Call(name, [], [], None, None, lineno=lineno), lineno=lineno)


def _bounded_text(value: Any) -> Any:
    """Write a value as a prompt shows it, unless that would be huge."""
    if not isinstance(value, str | Undefined):
        bounds.measure(value)
    return to_prompt_text(value)


def _shown(value: Any, path: Sequence[str]) -> Any:
    if isinstance(value, Undefined):
        return value
    shown = Shown(bounds.charged(_bounded_text(value)))
    shown.path = tuple(path)
    return shown


def _join(parts: Sequence[Any]) -> str:
    return bounds.joined("", (str(_bounded_text(part)) for part in parts))


def _guard(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    # functools.wraps copies the attributes by which Jinja passes the context or environment.
    @functools.wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        _bound_arguments((*args, *kwargs.values()), takes_numbers=name in bounds.TAKING_NUMBERS)
        bounds.check_filter(name, args, kwargs)
        result = _bounded(function(*args, **kwargs))
        return result if name in bounds.PASSING else bounds.charged(result)

    return guarded


def _bound_arguments(arguments: Sequence[Any], *, takes_numbers: bool) -> None:
    if not takes_numbers and any(isinstance(a, int) and abs(a) > MAX_NUMBER for a in arguments[1:]):
        raise SecurityError(f"a number larger than {MAX_NUMBER} is not accepted here")
    # replace and join multiply lengths: bound the product before it is built.
    lengths = sorted((_length(a) for a in arguments), reverse=True)
    if len(lengths) > 1 and lengths[0] * max(lengths[1], 1) > 50 * MAX_OUTPUT:
        raise SecurityError(f"the text would exceed {MAX_OUTPUT} characters")


def _bounded(value: Any) -> Any:
    if _length(value) > MAX_OUTPUT or _magnitude(value) > 1e300:
        raise SecurityError(f"a value would exceed {MAX_OUTPUT} characters")
    return value


def _length(value: Any) -> int:
    return len(value) if isinstance(value, str | bytes | list | tuple) else 0


def _magnitude(value: Any) -> int | float:
    return abs(value) if isinstance(value, int | float) else 0
