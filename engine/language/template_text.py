"""Change what a prompt's text says, token by token, so that all else stays as its author wrote it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from engine.errors import PipelineError
from engine.language.sandbox import PromptEnvironment
from engine.language.template_fields import LIST_VARIABLES
from engine.language.templates import Template

_ENVIRONMENT = PromptEnvironment(keep_trailing_newline=True)
_BLANK = frozenset({"whitespace"})


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str


def field_expression(field: str, variable: str = "input") -> str:
    """Write how a template names a field: `input.text`, or `input['a b']` where it is no identifier."""
    return f"{variable}.{field}" if field.isidentifier() else f"{variable}[{field!r}]"


def field_place(field: str, variable: str = "input") -> str:
    """Write the place holder that shows a field: `{{ input.text }}`."""
    return f"{{{{ {field_expression(field, variable)} }}}}"


def static_text(template: Template) -> str:
    """Return what a prompt says itself, without place holders, blocks and comments."""
    return "".join(token.text for token in _tokens(template.text) if token.kind == "data")


def outline(template: Template) -> str:
    """Return what a prompt says, `[field]` where it shows one; blocks and comments are left out."""
    written: list[str] = []
    inside: list[_Token] | None = None
    for token in _tokens(template.text):
        match token.kind:
            case "data":
                written.append(token.text)
            case "variable_begin":
                inside = []
            case "variable_end" if inside is not None:
                written.append(f"[{_last_name(inside)}]")
                inside = None
            case _ if inside is not None:
                inside.append(token)
    return "".join(written)


def rename_fields(template: Template, names: Mapping[str, str], variable: str = "input") -> Template:
    """Let a prompt read other fields: `names` maps old names to new ones, read through `variable` or loops over it.

    Raises PipelineError where the prompt reaches a field in a way that cannot be rewritten.
    """
    if not names or not template.mentions(variable) & set(names):
        return template
    tokens = _tokens(template.text)
    owners = _owners(tokens, variable)
    changed = [token.text for token in tokens]
    for at, token in enumerate(tokens):
        new = _new_name(tokens, at, owners, names)
        if new is not None:
            changed[at] = new if token.kind == "name" else repr(new)
    renamed = replace(template, text=_restored("".join(changed), template.text))
    if renamed.mentions(variable) & (set(names) - set(names.values())):
        raise PipelineError(
            f"the prompt reads {', '.join(sorted(names))} in a way that cannot be rewritten",
            advice="Write the field as it is: {{ input.text }}.",
        )
    return renamed


def replace_places(template: Template, write: Callable[[str], str | None], variable: str = "input") -> Template:
    """Put other text where a prompt shows a field as it is; `write` gives it by field, None to leave the place."""
    tokens = _tokens(template.text)
    written: list[str] = []
    at = 0
    while at < len(tokens):
        end = _place_end(tokens, at)
        field = _shown_field(tokens[at + 1 : end], variable) if end else None
        text = write(field) if field is not None else None
        if end and text is not None:
            if at and tokens[at].text.endswith("-") and tokens[at - 1].kind in _BLANK:
                written.pop()
            written.append(text)
            at = end + 1
        else:
            written.append(tokens[at].text)
            at += 1
    return replace(template, text=_restored("".join(written), template.text))


def _tokens(text: str) -> list[_Token]:
    """Read a template into tokens that give its text back; raises PipelineError where they do not.

    Jinja leaves out the white space that `{%-` cuts: that is a token of its own here.
    """
    whole, tokens, end = _with_plain_ends(text), list[_Token](), 0
    for _, kind, value in _ENVIRONMENT.lex(text):
        begin = whole.find(value, end)
        if begin > end:
            tokens.append(_Token("whitespace", whole[end:begin]))
        tokens.append(_Token(kind, value))
        end = begin + len(value)
    if any(token.kind == "whitespace" and not token.text.isspace() for token in tokens) or end != len(whole):
        raise PipelineError("the prompt is written in a way that cannot be rewritten", advice="Write it more simply.")
    return tokens


def _with_plain_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _restored(text: str, original: str) -> str:
    return text if "\r" not in original else text.replace("\n", "\r\n")


def _owners(tokens: Sequence[_Token], variable: str) -> frozenset[str]:
    """Return the names by which a row is called: the variable, or those of loops over it."""
    if variable not in LIST_VARIABLES:
        return frozenset({variable})
    words = [token.text for token in tokens if token.kind not in _BLANK]
    targets = [
        words[at + 1]
        for at in range(len(words) - 3)
        if words[at] == "for" and words[at + 2] == "in" and words[at + 3] == variable
    ]
    return frozenset(targets)


def _new_name(tokens: Sequence[_Token], at: int, owners: frozenset[str], names: Mapping[str, str]) -> str | None:
    """Return the new name where the token at `at` names a field of a row that is to be renamed."""
    token = tokens[at]
    before = [t.text for t in tokens[:at] if t.kind not in _BLANK][-5:]
    match token.kind:
        case "name":
            named = before[-2:-1] and before[-2] in owners and before[-1] == "." and before[-3:-2] != ["."]
            new = names.get(token.text) if named else None
            return new if new is None or new.isidentifier() else None
        case "string":
            subscript = before[-2:-1] and before[-2] in owners and before[-1] == "["
            got = len(before) >= 4 and before[-4] in owners and before[-3:] == [".", "get", "("]
            attribute = before[-2:] == ["attribute", "="]
            return names.get(ast.literal_eval(token.text)) if subscript or got or attribute else None
    return None


def _place_end(tokens: Sequence[_Token], at: int) -> int | None:
    """Return where the place holder that begins at `at` ends; None where none begins."""
    if tokens[at].kind != "variable_begin":
        return None
    return next((end for end in range(at, len(tokens)) if tokens[end].kind == "variable_end"), None)


def _shown_field(inside: Sequence[_Token], variable: str) -> str | None:
    match [token.text for token in _significant(inside)]:
        case [owner, ".", field] | [owner, ".", field, "|", "trim"] if owner == variable:
            return field
        case [owner, "[", field, "]"] | [owner, "[", field, "]", "|", "trim"] if (
            owner == variable and field[:1] in "'\""
        ):
            return str(ast.literal_eval(field))
    return None


def _last_name(inside: Sequence[_Token]) -> str:
    """Return the last name of the path that a place holder begins with."""
    name = ""
    for token in _significant(inside):
        if token.kind not in ("name", "string") and token.text not in (".", "[", "]"):
            break
        name = token.text.strip("'\"") if token.kind in ("name", "string") else name
    return name


def _significant(tokens: Sequence[_Token]) -> Iterator[_Token]:
    return (token for token in tokens if token.kind not in _BLANK)
