"""The pipeline of a proposal: one question about each document, a row for each thing in the answer."""

from __future__ import annotations

import json
import keyword
import re
from typing import Any, Final

from engine.ask.english import plural
from engine.ask.proposal import Column, Kind, Proposal, checked, field_name, from_json
from engine.ask.wording import person_column
from engine.errors import UsageError
from engine.language.templates import prompt_template
from engine.language.writer import written as yaml_text

MOST_ROWS: Final = 40
"""Rows that one part of a document can have."""

PART_TOKENS: Final = 6000
"""A longer document is read in parts of so many tokens, for small models lose rows in long texts."""

DATASET: Final = "documents"

_TABLE: Final = "# Table: "
"""Begins the comment in which a pipeline holds its table, so that the table can be shown and changed again."""
_TABLE_LINES: Final = 3

_TYPES: Final[dict[Kind, str]] = {
    "text": "string", "date": "date()", "amount": "amount", "number": "number", "person": "string", "yes/no": "boolean",
}  # fmt: skip


def pipeline_text(proposal: Proposal, *, model: str = "") -> str:
    """Return the pipeline as YAML, over the documents of a case (`--input` names others).

    The question stands in it word for word; braces that would make a template of it are taken apart. Raises UsageError
    for a proposal that cannot be a table.
    """
    proposal = checked(proposal)
    operations = _rows_of(proposal) if proposal.row else [_record_of(proposal)]
    root: dict[str, Any] = {"datasets": {DATASET: {"type": "case"}}}
    if model:
        root["default_model"] = model
    steps = [{"name": "answer", "input": DATASET, "operations": [operation["name"] for operation in operations]}]
    root |= {"operations": operations, "pipeline": {"steps": steps}}
    title = re.sub(r"\s+", " ", proposal.question).strip()
    table = json.dumps(proposal.to_json())
    return f"# {title}\n# {proposal.sentence}\n{_TABLE}{table}\n{yaml_text(root)}"


def proposal_of(text: str) -> Proposal | None:
    """Return the table that a pipeline was written for; None where it was not, or was changed by hand since."""
    proposal = table_of(text)
    model = re.search(r"^default_model: (.+)$", text, re.MULTILINE)
    if proposal is None or pipeline_text(proposal, model=model[1].strip("'\"") if model else "") != text:
        return None
    return proposal


def table_of(text: str) -> Proposal | None:
    """Return the table that a pipeline says it fills, in the comment at its top; None where it says none.

    Its steps may be others than those that `pipeline_text` writes: those of a template, or changed by hand.
    """
    line = next((line for line in text.split("\n", _TABLE_LINES)[:_TABLE_LINES] if line.startswith(_TABLE)), "")
    try:
        return from_json(json.loads(line.removeprefix(_TABLE)))
    except (ValueError, UsageError):  # no such comment, or one that somebody else wrote
        return None


def columns_of(proposal: Proposal) -> list[str]:
    """Return the fields of the table in order, the file's name first."""
    return ["filename", *(column.field for column in proposal.columns)]


def _rows_of(proposal: Proposal) -> list[dict[str, Any]]:
    items = _list_name(proposal)
    found = _of_row(items)
    fields = ", ".join(
        f"{column.field}: {_type(column, 'text_chunk', may_miss=number > 0)}"
        for number, column in enumerate(proposal.columns)
    )
    names = [column.field for column in proposal.columns]
    cut = {
        "name": "cut", "type": "split", "split_key": "text",
        "method": "token_count", "method_kwargs": {"num_tokens": PART_TOKENS},
    }  # fmt: skip
    read = {
        "name": f"find_{items}",
        "type": "map",
        "prompt": _prompt("ask/rows", proposal, "text_chunk"),
        "output": {"schema": {items: f"list[{{{fields}}}, {MOST_ROWS}]"}},
    }
    distinct = {
        "name": f"distinct_{items}",
        "type": "compute",
        "fields": {items: f"[item for at, item in enumerate({found}) if item not in {found}[:at]]"},
        "basis": False,
    }
    unnest = {
        "name": f"one_row_per_{field_name(proposal.row)}",
        "type": "unnest", "unnest_key": items, "recursive": True, "expand_fields": names,
    }  # fmt: skip
    operations: list[dict[str, Any]] = [cut, read, distinct, unnest]
    if person := person_column(proposal):
        operations.append({"name": "names_only", "type": "filter", "condition": f"{_of_row(person.field)} | is_person"})
    return [*operations, {"name": "table", "type": "map", "drop_keys": [items]}]


def _of_row(field: str) -> str:
    """Write a field of the row in an expression, where a bare `from` would be a word of the language."""
    return f"input[{field!r}]" if keyword.iskeyword(field) else f"input.{field}"


def _list_name(proposal: Proposal) -> str:
    """Return the field that holds the things until each has a row of its own; no column is called so."""
    name = field_name(plural(proposal.row))
    return f"list_of_{name}" if name in {column.field for column in proposal.columns} else name


def _record_of(proposal: Proposal) -> dict[str, Any]:
    return {
        "name": "read_document",
        "type": "map",
        "too_long": "split",
        "prompt": _prompt("ask/record", proposal, "text"),
        "output": {"schema": {column.field: _type(column, "text", may_miss=True) for column in proposal.columns}},
    }


def _prompt(name: str, proposal: Proposal, shown: str) -> str:
    prompt = prompt_template(name).render(
        question=_plain(re.sub(r"\s+", " ", proposal.question).strip()),
        notes=[_plain(note) for note in proposal.notes],
        row=_plain(proposal.row),
        columns=[
            prompt_template("ask/column").render(
                name=_plain(column.name), kind=column.kind, choices=[_plain(choice) for choice in column.choices]
            )
            for column in proposal.columns
        ],
    )
    lines = [line.rstrip() for line in prompt.strip().split("\n")]
    return "\n".join(lines) + f"\n{{{{ input.{shown} }}}}\n"


def _plain(text: str) -> str:
    """Break up `{{`, `{%` and `{#`: a question is no template."""
    return re.sub(r"\{(?=[{%#])", "{ ", text)


def _type(column: Column, source: str, *, may_miss: bool) -> str:
    if column.kind == "one of":
        choices = ", ".join(json.dumps(choice, ensure_ascii=False) for choice in column.choices)
        written = f"enum[{choices}]"
    elif column.kind == "quotation":
        written = f"quote({source})"
    else:
        written = _TYPES[column.kind]
    return f"{written}?" if may_miss else written
