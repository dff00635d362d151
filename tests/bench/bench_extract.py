"""ExtractBench (arXiv 2602.12247): whole documents into the JSON of a schema, beside the bare server with that schema.

    git clone https://github.com/ContextualAI/extract-bench
    REDWELL_BENCH_DATA=extract-bench REDWELL_BENCH_SERVER=LLAMA_SERVER REDWELL_BENCH_OUT=FOLDER redwell bench extract

REDWELL_BENCH_SCHEMAS names schemas by commas (resume,credit_agreement,research,swimming; 10kq is left out, since its
369 fields need replies of 15,000 tokens). Both are shown the same text, as Redwell reads the file: the first SHOWN
characters. The bare server gets the same question and temperature 0; the schema is its grammar, with each property
required, null where the schema does not require it, as Redwell reads it: given the choice it writes {}.

A run that was stopped goes on in the same FOLDER; the server's part begins anew.

Values are compared by code (nested_scoring). The benchmark lets a large model judge texts and lists, so its own figures
are other ones. Left out are files that are not there and those whose gold has fields that the schema lacks.
"""

from __future__ import annotations

import json
import os
import shutil
import urllib.request
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from evaluation.agreement import Agreement
from nested_scoring import agreement
from processes import REDWELL, Failed, Server, run, serving
from run_rows import rows_of
from side_by_side import Settings

from models.hardware import usable_cores
from models.install import find_model
from storage.case import Case

SCHEMAS = ("resume", "credit_agreement", "research", "swimming")
SHOWN, MOST_TOKENS = 24_000, 4000
CONTEXT_TOKENS, SLOTS = 16_384, 4
"""Of the bare server: each slot's context, and how many it has."""
QUESTION = "Extract from the document below what the form asks for.\n\nDocument:\n"


@dataclass(frozen=True, slots=True)
class Folder:
    """The documents of one schema: file name to gold."""

    name: str
    path: Path
    schema: Mapping[str, Any]
    gold: Mapping[str, Any]

    @classmethod
    def read(cls, file: Path) -> Folder:
        """Read a schema with its documents."""
        told = json.loads(file.read_text(encoding="utf-8"))
        schema = _plain(told.get("schema_definition", told))
        folder, gold = file.parent / "pdf+gold", {}
        for pdf in sorted(folder.glob("*.pdf")):
            answer = json.loads(pdf.with_suffix(".gold.json").read_text(encoding="utf-8"))
            if answer.keys() <= schema["properties"].keys():
                gold[pdf.name] = answer
        return cls(file.parent.name, folder, schema, gold)


def test_extract() -> None:
    """Print both contestants' precision, recall and F1 over all values, by schema."""
    data, settings = os.environ.get("REDWELL_BENCH_DATA", ""), Settings.from_environment()
    if not data:
        pytest.skip("REDWELL_BENCH_DATA names no checkout of github.com/ContextualAI/extract-bench")
    wanted = [name for name in os.environ.get("REDWELL_BENCH_SCHEMAS", "").split(",") if name] or SCHEMAS
    files = {file.parent.name: file for file in Path(data).glob("dataset/*/*/*-schema.json")}
    head = ("schema", "documents", "contestant", "F1", "precision", "recall", "values", "no answer")
    print(f"\n| {' | '.join(head)} |\n{'|---' * len(head)}|")
    for name in wanted:
        folder = Folder.read(files[name])
        texts, ours = _ours(folder, settings)
        print(_line(folder, "ours", ours), flush=True)
        if settings.server is not None:
            print(_line(folder, "bare server", dict(_bare(folder, settings, texts))), flush=True)


def _plain(schema: Any) -> Any:
    """Leave out what only the benchmark's own scoring reads."""
    if isinstance(schema, dict):
        return {key: _plain(value) for key, value in schema.items() if key != "evaluation_config"}
    return [_plain(value) for value in schema] if isinstance(schema, list) else schema


def _ours(folder: Folder, settings: Settings) -> tuple[dict[str, str], dict[str, Any]]:
    """Run one plain map over the documents; return texts and answers by file name."""
    place = settings.out.absolute() / folder.name
    (place / "files").mkdir(parents=True, exist_ok=True)
    for name in folder.gold:
        shutil.copy(folder.path / name, place / "files")
    extract = {
        "name": "extract",
        "type": "map",
        "max_tokens": MOST_TOKENS,
        "prompt": f"{QUESTION}{{{{ input.text[:{SHOWN}] }}}}\n",
        "output": {"schema": folder.schema},
    }
    pipeline = {
        "datasets": {"files": {"type": "folder", "path": "files"}},
        "default_model": settings.model,
        "operations": [extract],
        "pipeline": {"steps": [{"name": "all", "input": "files", "operations": ["extract"]}]},
    }
    file = place / "extract.yaml"
    file.write_text(yaml.safe_dump(pipeline, sort_keys=False, allow_unicode=True), encoding="utf-8")
    command = [*REDWELL, "run", file, "--case", place / "case.redwell", "--quiet"]
    try:
        run(command, seconds=settings.seconds, log=place / "run.log")
    except Failed as error:  # a row that failed is no answer; what else went wrong is in the log
        print(f"{folder.name}: {error}; see {place / 'run.log'}")
    with Case(place / "case.redwell") as case:
        latest = case.runs.latest()
        assert latest is not None
        rows = [dict(row.values) for row in case.rows.of_operator(latest.id, "files")]
        found = rows_of(case, latest.id)
    keys = folder.schema["properties"]
    answers = {row["filename"]: {key: row.get(key) for key in keys} for row in found}
    return {row["filename"]: row["text"] for row in rows}, answers


def _bare(folder: Folder, settings: Settings, texts: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """Ask llama.cpp's own server, which holds the reply to the schema by a grammar of its own."""
    assert settings.server is not None
    gguf, threads = find_model(settings.model).path, usable_cores()
    log = settings.out / folder.name / "server.log"
    with (
        serving(settings.server, gguf, slots=SLOTS, threads=threads, log=log, context=CONTEXT_TOKENS) as server,
        ThreadPoolExecutor(SLOTS) as pool,
    ):
        answers = pool.map(lambda text: _asked(server, folder.schema, QUESTION + text[:SHOWN]), texts.values())
        yield from ((name, answer) for name, answer in zip(texts, answers, strict=True) if answer is not None)


def _asked(server: Server, schema: Mapping[str, Any], prompt: str) -> Any:
    """Return the answer; None where it is no whole JSON."""
    body = {
        "messages": [{"role": "user", "content": prompt}],
        "temperature": 0,
        "max_tokens": MOST_TOKENS,
        "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": _required(schema)}},
    }
    request = urllib.request.Request(
        f"{server.base_url}/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=3600) as reply:
        text = json.load(reply)["choices"][0]["message"]["content"]
    try:
        return json.loads(text)
    except ValueError:
        return None


def _required(schema: Any) -> Any:
    """Require each property, and let those be null that were not required."""
    if isinstance(schema, list):
        return [_required(value) for value in schema]
    if not isinstance(schema, dict):
        return schema
    changed = {key: _required(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
        needed = schema.get("required", ())
        changed["properties"] = {
            key: value if key in needed else {"anyOf": [value, {"type": "null"}]}
            for key, value in changed["properties"].items()
        }
        changed |= {"required": list(changed["properties"]), "additionalProperties": False}
    return changed


def _line(folder: Folder, contestant: str, answers: Mapping[str, Any]) -> str:
    counts = sum((agreement(answers.get(name), gold) for name, gold in folder.gold.items()), Agreement(0, 0, 0))
    shares = " | ".join(f"{value:.3f}" for value in (counts.f1, counts.precision, counts.recall))
    missing = len(folder.gold.keys() - answers.keys())
    return f"| {folder.name} | {len(folder.gold)} | {contestant} | {shares} | {counts.wanted} | {missing} |"
