"""The process in which files are parsed: `python -m engine.documents.child`.

The first line on stdin names the only folder it may write to and what it may read; on Linux the kernel holds it to that
from then on (models.fence). Then it reads one JSON command a line and answers with JSON lines on stdout: `{"pages": n}`
when a file is open, `{"page": i}` after each page, then `{"done": true}` (the result is in `result.json` in the scratch
folder) or `{"error": {...}}`. It ends when stdin closes or the parent dies.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import traceback
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

from engine.disk import is_disk_full
from engine.documents.answers import short
from engine.documents.codec import box_from_json, document_to_json
from engine.documents.options import ParseOptions
from engine.documents.parse import parse_file, unreadable
from engine.documents.parsers import RESULT, ROWS, call_parser
from engine.documents.tables import table_rows
from engine.documents.unpacking import Share
from engine.errors import DocumentError
from models.fence.attempt import try_socket
from models.fence.process import cage, die_with_parent, harden

_RESERVED_BYTES = 4 * 2**30  # what libraries reserve without using it: 1.5 GiB measured with OCR


def main() -> None:
    """Serve commands until stdin closes."""
    answers = _take_stdout()
    die_with_parent()
    harden()
    sys.addaudithook(_forbid_sockets)
    _enter_cage(json.loads(sys.stdin.readline()), answers)
    commands: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(commands,), daemon=True).start()
    while True:
        _serve(json.loads(commands.get()), answers)


def _serve(command: dict[str, Any], answers: TextIO) -> None:
    def answer(message: dict[str, Any]) -> None:
        answers.write(json.dumps(message) + "\n")
        answers.flush()

    try:
        options = ParseOptions.from_json(command["options"])
        _limit_memory(options.memory_bytes)
        _do(command, options, lambda what, number: answer({what: number}))
        answer({"done": True})
    except DocumentError as error:
        answer(_told(error))
    except MemoryError:
        answer({"error": {"reason": "out_of_memory", "message": "reading it takes more memory than allowed"}})
    except RecursionError:
        answer({"error": {"reason": "corrupt", "message": "its parts are nested too deeply"}})
    except Exception as error:  # noqa: BLE001 - the per-file guard: what a parser did not foresee fails one file
        if isinstance(error, OSError) and is_disk_full(error):
            answer(_told(unreadable(error)))
            return
        traceback.print_exc()
        message = short(f"it could not be read ({type(error).__name__}: {error})")
        answer({"error": {"reason": "corrupt", "message": message}})


def _do(command: dict[str, Any], options: ParseOptions, progress: Any) -> None:
    match command["do"]:
        case "parse":
            _parse(command, options, progress)
        case "rows":
            _rows(command, options)
        case "call":
            call_parser(command)
        case "report":
            _report(command)
        case "attempt":
            Path(command["out"]).write_text(json.dumps(asdict(try_socket())), encoding="utf-8")
        case _:
            _render(command, options)


def _told(error: DocumentError) -> dict[str, Any]:
    return {"error": {"reason": error.reason, "message": short(str(error)), "advice": short(error.advice)}}


def _parse(command: dict[str, Any], options: ParseOptions, progress: Any) -> None:
    scratch = Path(command["scratch"])
    parsed = parse_file(
        Path(command["path"]),
        options,
        name=command["name"],
        scratch=scratch / "children",
        progress=progress,
        share=Share(*command["share"]),
    )
    result = {
        "kind": parsed.kind,
        "document": document_to_json(parsed.document) if parsed.document else None,
        "children": [[child.name, child.path.relative_to(scratch).as_posix()] for child in parsed.children],
        "failures": [asdict(failure) for failure in parsed.failures],
    }
    (scratch / RESULT).write_text(json.dumps(result), encoding="utf-8")


def _rows(command: dict[str, Any], options: ParseOptions) -> None:
    with (Path(command["scratch"]) / ROWS).open("w", encoding="utf-8") as file:
        for pair in table_rows(Path(command["path"]), options, command["sheet"]):
            file.write(json.dumps(pair) + "\n")


def _render(command: dict[str, Any], options: ParseOptions) -> None:
    from engine.documents.drawing import draw_page  # noqa: PLC0415 - pulls in the PDF and picture libraries

    boxes = [box for value in command["boxes"] if (box := box_from_json(value)) is not None]
    draw_page(
        Path(command["path"]),
        command["page"],
        boxes=boxes,
        dpi=command["dpi"],
        out=Path(command["out"]),
        member=command["member"],
        member_id=command["member_id"],
        scratch=Path(command["scratch"]),
        options=options,
    )


def _report(command: dict[str, Any]) -> None:
    from engine.documents.report_pages import write_report  # noqa: PLC0415 - pulls in the PDF and picture libraries

    write_report(Path(command["spec"]), Path(command["out"]))


def _listen(commands: queue.SimpleQueue[str]) -> None:
    """Pass commands on; when the parent closes stdin or is gone, stop at once, even in the middle of a page."""
    for line in sys.stdin:
        commands.put(line)
    os._exit(0)


def _take_stdout() -> TextIO:
    """Keep stdout for answers; whatever a library prints goes to stderr."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers


def _enter_cage(allowed: dict[str, Any], answers: TextIO) -> None:
    try:
        cage(allowed["reads"], [allowed["folder"]])
    except OSError as error:
        failure = {"reason": "crashed", "message": f"the process that reads files could not be confined: {error}"}
        answers.write(json.dumps({"error": failure}) + "\n")
        answers.flush()
        os._exit(1)


def _limit_memory(memory_bytes: int) -> None:
    """Bound the address space well above the resident limit, which the parent watches.

    Libraries reserve much more than they use, so this only stops a single huge allocation at once.
    """
    if sys.platform != "linux":
        return
    import resource  # noqa: PLC0415 - does not exist on Windows

    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = memory_bytes + _RESERVED_BYTES
    soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _forbid_sockets(event: str, arguments: tuple[Any, ...]) -> None:
    if event.startswith("socket."):
        raise PermissionError("a process that parses files may not use the network")


if __name__ == "__main__":
    main()
