"""The tools of an operator with a scripted model: replies come from a function of the request."""

from __future__ import annotations

import dataclasses
import json

import numpy as np

from engine.code.pool import CodePool
from engine.documents.outline import Structure
from engine.language.schema import Schema
from engine.language.templates import Template
from engine.operators.base import CallRecord
from engine.operators.running import run_operator
from engine.rows import DocumentId, Row
from models.errors import PromptTooLong
from models.protocol import Reply, Sampling


def written(request, value):
    """Return what a model writes: of a question for one boolean alone, the value without the object around it."""
    return value["same"] if request.schema == {"type": "boolean"} and isinstance(value, dict) else value


class ScriptedTools:
    """`reply(request)` gives the value, or raises; `vectors` maps texts to embeddings. A token is a word."""

    def __init__(self, reply=None, *, vectors=None, context_tokens=100_000, system_prompt="", max_tokens=100):
        self.reply = reply
        self.vectors = vectors or {}
        self.context_tokens = context_tokens
        self.system_prompt = system_prompt
        self.sampling = Sampling(max_tokens=max_tokens)
        self.seed = 7
        self.requests = []
        self.models = []
        self.embedded = []
        self.reports = []
        self.joined_fields = ((), ())
        self.record = CallRecord()
        self.models = []
        self.found = {}
        self.structures = {}

    def structure(self, document_id):
        return self.structures[document_id]

    async def call_code(self, program, given):
        """Run the code for real, in a process of its own that ends with the call."""
        pool = CodePool()
        try:
            return await pool.call(program, given)
        finally:
            await pool.close()

    def count_tokens(self, text):
        return len(text.split())

    async def ask(self, request, *, model=None):
        self.requests.append(request)
        self.models.append(model)
        words = sum(self.count_tokens(s.text) for s in request.segments)
        if words + request.sampling.max_tokens > self.context_tokens:
            raise PromptTooLong(
                prompt_tokens=words, reply_tokens=request.sampling.max_tokens, context_tokens=self.context_tokens
            )
        value = written(request, self.reply(request))
        return Reply(value=value, text=json.dumps(value))

    async def retrieve(self, name, values):
        return self.found[name](values)

    async def embed(self, texts):
        self.embedded += texts
        return np.array([self.vectors[t] for t in texts], np.float32)

    def progress(self, done, total):
        self.reports.append((done, total))


def _structure(row):
    """Take the first text of a row for its document."""
    texts = [value for value in row.values.values() if isinstance(value, str)]
    return Structure(lines=texts[0].count("\n") + 1 if texts else 0)


def rows_of(*values, document=None):
    """Make source rows; with `document` all are of that document, else each value may say so in `_document`."""
    rows = []
    for index, given in enumerate(values):
        value = dict(given)
        owner = value.pop("_document", document)
        rows.append(Row.source("test", str(index), value, DocumentId(owner) if owner else None))
    return rows


async def run(node, rows, tools=None):
    """Run an operator and check that no row is lost: each is an ancestor of an output, rejected or failed."""
    tools = tools or ScriptedTools()
    for row in rows:
        if row.document_id is not None:
            tools.structures.setdefault(row.document_id, _structure(row))
    outcome = await run_operator(node, rows, tools)
    accounted = {parent for row in outcome.rows for parent in row.parents}
    accounted |= {r.row.id for r in outcome.rejected} | {f.row.id for f in outcome.failed}
    assert accounted == {row.id for row in rows}
    assert len({row.id for row in outcome.rows}) == len(outcome.rows)
    assert isinstance(hash(node), int)
    return outcome


def values_of(outcome):
    return [dict(row.values) for row in outcome.rows]


def prompt_of(request):
    """The user's message of a request."""
    return "".join(s.text for s in request.segments if s.role == "user")


def template(text, *variables):
    return Template.parse(text, variables=variables or ("input",))


def schema(**fields):
    return Schema.parse(fields)


def replaced(row, **changes):
    return dataclasses.replace(row, **changes)
