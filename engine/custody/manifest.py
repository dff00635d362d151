"""The manifest beside an export: what it was made from and by what, so that others can check it (docs/custody.md).

Its timestamp (RFC 3161) is the request to send, and the token that came back. Nothing is fetched here.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, Final

from engine.custody.recording import ledger_counts, record_beside, reviewer, versions
from engine.custody.verify_manifest import imprint_of
from engine.disk import sha256_of
from engine.errors import UsageError
from storage.case import Case
from storage.custody import CustodyEntry
from storage.export.atomic import replacing
from storage.ledger import DocumentRecord, LedgerBook
from storage.runs import Runs
from storage.topic import now

FORMAT: Final = "redwell manifest 1"

_SHA_256: Final = bytes.fromhex("608648016503040201")
"""2.16.840.1.101.3.4.2.1 in DER."""


def manifest_path(out: Path) -> Path:
    """Name the manifest of an export: `out.csv.manifest.json`."""
    return out.with_name(f"{out.name}.manifest.json")


def log_path(out: Path) -> Path:
    """Name the copy of the custody log that goes with an export: `out.csv.custody.jsonl`."""
    return out.with_name(f"{out.name}.custody.jsonl")


def with_manifests(outs: Iterable[Path]) -> list[Path]:
    """List exports, each with its manifest and its copy of the log."""
    return [file for out in outs for file in (out, manifest_path(out), log_path(out))]


def signature_path(manifest: Path) -> Path:
    """Name the signature of a manifest."""
    return manifest.with_name(f"{manifest.name}.sig")


def token_path(manifest: Path) -> Path:
    """Name the timestamp of a manifest, which somebody else made."""
    return manifest.with_name(f"{manifest.name}.tsr")


def write_manifest(
    case: Case, run_id: str, out: Path, *, rows: int, layout: Mapping[str, Any], warnings: Sequence[str] = ()
) -> tuple[str, ...]:
    """Record an export in the log, and write its manifest and a copy of the log beside it; return notes.

    `layout` says how its rows were laid out, `warnings` what a person should know of it.

    Where the case cannot be written now (another process writes to it, it is read-only) the export is not in the log,
    and the manifest and a note say so. Raises ExportError, DiskFull or CustodyBroken.
    """
    digest = sha256_of(out)
    facts = {"run": run_id, "file": out.name, "sha256": digest, "rows": rows, "by": reviewer()}
    problem = record_beside(case, "export", facts)
    entries = case.custody.entries()
    log = "".join(f"{entry.line}\n" for entry in entries)
    with replacing(log_path(out)) as path:
        path.write_bytes(log.encode())
    body = {
        "format": FORMAT,
        "made_at": now(),
        "export": {
            "file": out.name,
            "sha256": digest,
            "bytes": out.stat().st_size,
            "rows": rows,
            "layout": dict(layout),
            "by": facts["by"],
        },
        "warnings": [*warnings, *([problem] if problem else [])],
        "run": _run(case.runs, run_id, entries),
        "reviews": _reviews(run_id, entries),
        "counts": ledger_counts(case.ledger.sums(run_id)),
        "custody": {
            "file": log_path(out).name,
            "entries": len(entries),
            "head": entries[-1].digest if entries else "",
            "has_this_export": not problem,
        },
        "versions": versions(),
        "sources": list(sources_of(case.ledger, run_id, entries)),
    }
    with replacing(manifest_path(out)) as path:
        path.write_text(json.dumps(body, ensure_ascii=True, indent=1) + "\n", encoding="utf-8")
    signature_path(manifest_path(out)).unlink(missing_ok=True)  # of the manifest that was there before
    return (problem,) if problem else ()


def _run(runs: Runs, run_id: str, entries: Sequence[CustodyEntry]) -> dict[str, Any]:
    run = runs.get(run_id)
    end, start, results = (_first(entries, event, run_id) for event in ("run_end", "run_start", "results"))
    return {
        "id": run.id,
        "status": run.status,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
        "pipeline_sha256": run.pipeline_digest,
        "model": run.model_name,
        "models": end.get("models", []),
        "settings": run.settings,
        "versions": start.get("versions", {}),
        "results_sha256": results.get("sha256", ""),
    }


def _first(entries: Sequence[CustodyEntry], event: str, run_id: str) -> Mapping[str, Any]:
    bodies = (e.body for e in entries if e.event == event and e.body.get("run") == run_id)
    return next(bodies, {})


def _reviews(run_id: str, entries: Sequence[CustodyEntry]) -> list[dict[str, Any]]:
    """List who reviewed the run, with the number of steps and the time of the last."""
    steps = [entry for entry in entries if entry.event == "review" and entry.body.get("run") == run_id]
    reviewers = dict.fromkeys(str(entry.body["who"]) for entry in steps)
    return [
        {"who": who, "steps": len(own_steps), "last": own_steps[-1].time}
        for who in reviewers
        for own_steps in [[entry for entry in steps if entry.body["who"] == who]]
    ]


def sources_of(ledger: LedgerBook, run_id: str, entries: Sequence[CustodyEntry]) -> Iterator[dict[str, Any]]:
    """Yield every source file of a run: path below its folder, SHA-256, what became of it, and the file that holds it.

    Archives and mails that hold such files and have no rows of their own come after these.
    """
    logged: dict[Any, list[Mapping[str, Any]]] = {}
    for entry in entries:
        if entry.event in ("ingest", "unreadable"):
            logged.setdefault(entry.body.get("sha256"), []).append(entry.body)
    files = [_source(record, logged.get(record.document_id, ())) for record in ledger.run_documents(run_id)]
    here = {(file["folder"], file["path"]) for file in files}
    above = {(file["folder"], parent.as_posix()) for file in files for parent in PurePath(file["path"]).parents}
    missing = above - here
    unpacked = {
        (body["folder"], body["path"]): {"path": body["path"], "folder": body["folder"], "sha256": body["sha256"]}
        for bodies in logged.values()
        for body in bodies
        if (body["folder"], body["path"]) in missing
    }
    every = [*files, *({**holder, "fate": "unpacked"} for holder in unpacked.values())]
    holders = {(file["folder"], file["path"]) for file in every}
    for file in every:
        parents = (parent.as_posix() for parent in PurePath(file["path"]).parents)
        holder = next((path for path in parents if (file["folder"], path) in holders), "")
        yield {**file, **({"inside": holder} if holder else {})}
    for entry in entries:
        if entry.event == "data" and entry.body.get("run") == run_id:
            yield {key: entry.body[key] for key in ("path", "folder", "sha256")} | {"fate": "rows"}


def _source(record: DocumentRecord, logged: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Describe a file of a run; its path below the folder is the one that the log has.

    A folder that was renamed and read again is in the log twice: it is the one that the run read.
    """
    whole = Path(record.path).as_posix()
    paths = [(body["path"], body["folder"]) for body in logged if whole.endswith(f"/{body['path']}")]
    fit = lambda pair: (whole.endswith(f"/{pair[1]}/{pair[0]}"), len(pair[0]))  # noqa: E731
    path, folder = max(paths, key=fit, default=(Path(record.path).name, ""))
    return {"path": path, "folder": folder, "sha256": record.document_id, "fate": record.fate}


def request_of(manifest: Path) -> bytes:
    """Make a request for a timestamp of a manifest (section 2.4.1), with a random number and for certificates."""
    digest = bytes.fromhex(sha256_of(manifest))
    imprint = _der(0x30, _der(0x30, _der(0x06, _SHA_256), _der(0x05)), _der(0x04, digest))
    nonce = secrets.token_bytes(8)
    number = b"\x01" + nonce  # a positive number of fixed length
    return _der(0x30, _der(0x02, b"\x01"), imprint, _der(0x02, number), _der(0x01, b"\xff"))


def _der(tag: int, *parts: bytes) -> bytes:
    """Write one element; the contents here are shorter than 128 bytes."""
    content = b"".join(parts)
    return bytes([tag, len(content)]) + content


def attach_token(manifest: Path, token: Path) -> tuple[Path, str]:
    """Put a token beside a manifest, if it is about it; return its path there and the time that it says.

    Raises UsageError for a file that is no token, or is about another file. Who signed it is not checked.
    """
    try:
        content = token.read_bytes()
        digest, time = imprint_of(content)
    except (OSError, ValueError, IndexError) as error:
        raise UsageError(
            f"{token} is no timestamp that can be read: {error}", advice="Name the reply of the authority, a .tsr."
        ) from error
    if digest.hex() != sha256_of(manifest):
        raise UsageError(f"{token} is about another file than {manifest}", advice="Ask again with --request.")
    path = token_path(manifest)
    with replacing(path) as part:
        part.write_bytes(content)
    return path, time
