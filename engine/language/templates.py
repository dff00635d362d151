"""Prompt templates: parsed and checked when the pipeline is read, rendered per row in the sandbox."""

from __future__ import annotations

import re
import secrets
import traceback
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from importlib import resources
from typing import Any

from jinja2 import TemplateSyntaxError, meta, nodes
from jinja2.environment import Template as CompiledTemplate
from jinja2.exceptions import SecurityError, UndefinedError

from engine.errors import ItemError, PipelineError
from engine.language.bounds import MAX_NUMBER, MAX_OUTPUT, TAKING_NUMBERS, Meter
from engine.language.position import Where, did_you_mean, row_and_column
from engine.language.sandbox import FAULTS, TICK, Bounds, FieldsShown, PromptEnvironment, Shown
from engine.language.template_fields import FieldReads, FieldWalker

INPUT = frozenset({"input"})
"""The variables of a prompt about one row."""

SHOWS_ROWS = "shows_rows"
"""In the metadata of a node's field: its prompt is about rows, and shows them where it is no template."""

RETRIEVAL_CONTEXT = "retrieval_context"
"""What a prompt calls the texts that its operator's retriever finds."""

CONTEXT_PLACE = f"\ue000{RETRIEVAL_CONTEXT} {secrets.token_hex(8)}\ue001"
"""Stands in a rendered prompt where these texts go: they are found after it is rendered. Not the same in two runs of
the program, so that no document can hold it."""

_USER = PromptEnvironment()
_BUILT_IN = PromptEnvironment(trim_blocks=True, lstrip_blocks=True)
_TEMPLATE_SYNTAX = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_APPENDED = (("left", "right"), ("input1", "input2"), ("inputs",), ("input",))
"""The variables whose rows are shown: the first of these that an operator provides."""
_FILE_STATEMENTS = (nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends)


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of a rendered prompt; `path` names the value it shows (`("input", "text")`), empty for all other text."""

    text: str
    path: tuple[str, ...] = ()


@dataclass(frozen=True)
class Template:
    """A prompt. Two templates are equal when their text and variables are.

    `variables` are the names the operator provides; None (prompts of Redwell itself) allows any. With `shows_rows`,
    what the operator asks about is put behind a text that is no template, as DocETL does.
    """

    text: str
    variables: frozenset[str] | None = INPUT
    built_in: bool = field(default=False, kw_only=True)
    shows_rows: bool = field(default=False, kw_only=True, compare=False)

    @classmethod
    def parse(cls, text: str, *, variables: Collection[str] = INPUT, where: Where | None = None) -> Template:
        """Read a prompt; raises PipelineError for bad syntax and for variables the operator does not provide."""
        template = cls(text, frozenset(variables))
        template.check(where or Where())
        return template

    def check(self, where: Where) -> None:
        """Raise PipelineError at the place in the file where this template cannot work."""
        try:
            tree = _USER.parse(self.text)
            self._refuse_unknown_filters(tree, where)
            _USER.compile(Bounds().visit(_USER.parse(self.text)))
        except TemplateSyntaxError as error:
            raise where.error(
                f"the prompt is not a valid template: {error.message}",
                advice="Write {{ input.field }} for a field; see the Jinja2 template language.",
                inside=self._place(error.lineno),
            ) from error
        except RecursionError as error:
            raise where.error("the prompt is nested too deeply") from error
        self._refuse_files(tree, where)
        self._refuse_too_large(tree, where)
        self._refuse_unknown_names(where)

    @property
    def appended(self) -> str:
        """Return what is put behind the text, a template itself; nothing behind a text that is one."""
        if not self.shows_rows or _TEMPLATE_SYNTAX.search(self.text):
            return ""
        for sides in _APPENDED:
            if set(sides) <= (self.variables or set()):
                return prompt_template(f"appended/{'_'.join(sides)}").text.rstrip()
        return ""

    @cached_property
    def source(self) -> str:
        """Return the text with what is added after it."""
        return f"{self.text.rstrip()}\n\n{appended}" if (appended := self.appended) else self.text

    def reads(self, variable: str = "input") -> frozenset[str]:
        """Return the fields that must be there, read through `variable` (`input.x`, `inputs[0]['x']`, loops)."""
        reads = self._analysis.reads
        return frozenset(reads.needed.get(variable, ())) - frozenset(reads.tested.get(variable, ()))

    def mentions(self, variable: str = "input") -> frozenset[str]:
        """Return the fields read, also those read only if present (`is defined`, `default`, `.get`)."""
        reads = self._analysis.reads
        return frozenset().union(*(table.get(variable, ()) for table in (reads.needed, reads.tested, reads.optional)))

    @property
    def reads_unknown(self) -> bool:
        """Say whether fields are read that cannot be named before it runs: `{{ input }}`, `input[key]`."""
        return bool(self._analysis.reads.unknown)

    def uses(self, variable: str) -> bool:
        """Say whether the text names a variable at all."""
        return variable in meta.find_undeclared_variables(self._environment.parse(self.source))

    @cached_property
    def shows(self) -> tuple[tuple[str, ...], ...]:
        """Return the paths of the values it may show as they are, in the order of the text."""
        tree = self._environment.parse(self.source)
        marking = FieldsShown(tree, self.variables or ())
        marking.visit(tree)
        return tuple(dict.fromkeys(marking.paths))

    @cached_property
    def begins_with_value(self) -> bool:
        """Say whether its text begins with something that is filled in."""
        return not self.text.strip() or self.text.lstrip().startswith(("{{", "{%"))

    @property
    def uses_retrieval(self) -> bool:
        """Say whether the prompt places the texts of a retriever itself."""
        return RETRIEVAL_CONTEXT in self.text

    @property
    def all_reads(self) -> FieldReads:
        """Return what is read through every variable."""
        return self._analysis.reads

    def render(self, **values: Any) -> str:
        """Fill the template. Values that are not text appear as compact JSON.

        Raises ItemError naming a missing field and the fields there are, or the bound that was exceeded.
        """
        return "".join(self.stream(**values))

    def pieces(self, **values: Any) -> tuple[Piece, ...]:
        """Fill the template as `render` does, but tell apart the values it shows as they are; joined, it is the same.

        A value that the template works with (a filter, a macro, the rows of a loop) is text like any other.
        """
        pieces: list[Piece] = []
        for part in self.stream(**values):
            path = part.path if isinstance(part, Shown) else ()
            # join, not +: what {% autoescape %} gives would escape the text that it is added to.
            if pieces and not path and not pieces[-1].path:
                pieces[-1] = Piece("".join((pieces[-1].text, part)))
            else:
                pieces.append(Piece("".join((part,)), path))
        return tuple(pieces)

    def stream(self, **values: Any) -> Iterator[str]:
        """Fill the template piece by piece; what was given before an error stands."""
        try:
            yield from self._bounded_pieces({RETRIEVAL_CONTEXT: CONTEXT_PLACE, **values})
        except UndefinedError as error:
            raise ItemError(
                f"the prompt cannot be filled in: {error.message}",
                advice="Correct the field name, or write {{ input.field | default('') }} where it may be missing.",
            ) from error
        except FAULTS as error:
            reason = f"{error}" or type(error).__name__
            raise ItemError(f"the prompt cannot be filled in: {reason}{_line_of(error)}") from error

    def _bounded_pieces(self, values: dict[str, Any]) -> Iterator[str]:
        size = 0
        meter = Meter()
        pieces = self._compiled.generate({**values, TICK: meter.tick})
        while True:
            with meter.counting():
                piece = next(pieces, None)
            if piece is None:
                return
            size += len(piece)
            if size > MAX_OUTPUT:
                raise ItemError(f"the prompt exceeds {MAX_OUTPUT} characters")
            yield piece

    def place_of(self, name: str) -> tuple[int, int]:
        """Find where the text first names a field: 1-based (row, column), (1, 1) when it does not."""
        match = re.search(rf"""(?<=\.){re.escape(name)}\b|(?<=['"]){re.escape(name)}(?=['"])""", self.text)
        return row_and_column(self.text, match.start()) if match else (1, 1)

    @property
    def _environment(self) -> PromptEnvironment:
        return _BUILT_IN if self.built_in else _USER

    @cached_property
    def _compiled(self) -> CompiledTemplate:
        environment = self._environment
        tree = environment.parse(self.source)
        tree = Bounds().visit(FieldsShown(tree, self.variables or ()).visit(tree))
        return CompiledTemplate.from_code(environment, environment.compile(tree), environment.make_globals(None))

    @cached_property
    def _analysis(self) -> FieldWalker:
        walker = FieldWalker(self.variables or (), {*self._environment.globals, RETRIEVAL_CONTEXT})
        walker.walk(self._environment.parse(self.source))
        return walker

    def _refuse_unknown_filters(self, tree: nodes.Template, where: Where) -> None:
        """Find them anywhere: within conditions Jinja would complain of a row only."""
        for kind, what, known in ((nodes.Filter, "filter", _USER.filters), (nodes.Test, "test", _USER.tests)):
            for node in tree.find_all(kind):
                if node.name not in known:
                    raise where.error(
                        f"the prompt is not a valid template: there is no {what} {node.name!r}",
                        advice=did_you_mean(node.name, sorted(known)),
                        inside=self._place(node.lineno),
                    )

    def _refuse_too_large(self, tree: nodes.Template, where: Where) -> None:
        """Compute what is the same for all rows, and look at the numbers that filters and functions are given."""
        for node in _largest_constants(tree):
            if trouble := _computed_trouble(node):
                raise self._too_large(node, trouble, where)
        calls: list[nodes.Filter | nodes.Call] = [*tree.find_all(nodes.Filter), *tree.find_all(nodes.Call)]
        for call in calls:
            arguments = [*call.args, *(each.value for each in call.kwargs)]
            numbers = [each.value for each in arguments if isinstance(each, nodes.Const) and type(each.value) is int]
            if not _takes_numbers(call) and any(abs(number) > MAX_NUMBER for number in numbers):
                raise self._too_large(call, f"a number larger than {MAX_NUMBER} is not accepted here", where)

    def _too_large(self, node: nodes.Node, trouble: str, where: Where) -> PipelineError:
        advice = "Write a smaller number, or leave the limit out."
        place = self._place(node.lineno)
        return where.error(f"the prompt can be filled in for no row: {trouble}", advice=advice, inside=place)

    def _refuse_files(self, tree: nodes.Template, where: Where) -> None:
        for node in tree.find_all(_FILE_STATEMENTS):
            raise where.error(
                f"{{% {type(node).__name__.lower()} %}} is not available in prompts",
                advice="Write the whole prompt in the pipeline file.",
                inside=self._place(node.lineno),
            )

    def _refuse_unknown_names(self, where: Where) -> None:
        if self.variables is None or not self._analysis.unknown_names:
            return
        unknown = self._analysis.unknown_names[0]
        advice = did_you_mean(unknown.name, sorted(self.variables))
        if "input" in self.variables:
            advice += f" A field is read as input.{unknown.name}."
        raise where.error(
            f"the prompt uses {unknown.name!r}, which nothing provides",
            advice=advice,
            inside=self._place(unknown.line, rf"\b{re.escape(unknown.name)}\b"),
        )

    def _place(self, line: int, pattern: str = r"\{[{%#]") -> tuple[int, int]:
        """Find the column of a pattern in a 1-based template line, for Jinja knows lines only."""
        lines = self.text.split("\n")
        text = lines[min(line, len(lines)) - 1]
        match = re.search(pattern, text)
        return min(line, len(lines)), (match.start() if match else len(text) - len(text.lstrip())) + 1


def _largest_constants(node: nodes.Node) -> Iterator[nodes.Expr]:
    """Give the parts of a template that depend on no row, and on nothing that the template itself sets."""
    if isinstance(node, nodes.Name | nodes.Const | nodes.TemplateData):
        return
    names = node.find_all(nodes.Name)
    if isinstance(node, nodes.Expr) and all(name.name in _USER.globals for name in names):
        yield node
        return
    for child in node.iter_child_nodes():
        yield from _largest_constants(child)


def _takes_numbers(call: nodes.Filter | nodes.Call) -> bool:
    """Say whether a filter or a function may be given a number of any size."""
    if isinstance(call, nodes.Filter):
        return call.name in TAKING_NUMBERS
    return not (isinstance(call.node, nodes.Name) and call.node.name == "range")


def _computed_trouble(node: nodes.Expr) -> str:
    """Compute a part of a template that needs no data; say which bound it exceeds, if one."""
    tree = nodes.Template([nodes.Output([node])], lineno=1)
    tree.set_environment(_USER)
    try:
        with Meter().counting():
            template = CompiledTemplate.from_code(_USER, _USER.compile(tree), _USER.make_globals(None))
            for _ in template.root_render_func(template.new_context({})):
                pass
    except SecurityError as error:
        return str(error)
    except FAULTS:
        return ""  # a run says so of the row
    return ""


def _line_of(error: BaseException) -> str:
    """Say in which line of the template an error was raised; nothing where that is not known."""
    frames = traceback.walk_tb(error.__traceback__)  # Jinja puts in one for each place in the template
    lines = [line for frame, line in frames if frame.f_code.co_filename == "<template>"]
    return f" (line {lines[-1]} of the prompt)" if lines else ""


def show_rows(node: Any) -> None:
    """Let the prompts of a new node show the rows where they are no templates: those whose field says so."""
    for each in fields(node):
        template = getattr(node, each.name)
        if isinstance(template, Template) and each.metadata.get(SHOWS_ROWS) and not template.shows_rows:
            object.__setattr__(node, each.name, replace(template, shows_rows=True))


@cache
def prompt_template(name: str) -> Template:
    """Load `engine/prompts/<name>.jinja`, or `<folder>/<name>`; raises PipelineError when there is none."""
    file = resources.files("engine").joinpath("prompts", *f"{name}.jinja".split("/"))
    if not re.fullmatch(r"(?:[\w-]+/)?[\w-]+", name) or not file.is_file():
        raise PipelineError(f"there is no built-in prompt {name!r}")
    return Template(file.read_text(encoding="utf-8"), None, built_in=True)
