"""Write the picture of a page, with boxes that show where something was found."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Collection, Sequence
from pathlib import Path

from engine.documents.answers import LONGEST_LINE, plain_output, read_line
from engine.documents.codec import box_to_json
from engine.documents.document import Box
from engine.documents.options import ParseOptions
from engine.documents.parsers import cage_line, child_command, child_environment
from engine.errors import DocumentError

PNG = b"\x89PNG\r\n\x1a\n"
"""How every such picture begins."""


def render_page(
    path: Path,
    page: int,
    *,
    boxes: Sequence[Box],
    out: Path,
    dpi: int = 150,
    member: str = "",
    options: ParseOptions | None = None,
) -> None:
    """Write page `page` (from 1) of a PDF or picture as a PNG to `out`, with `boxes` (points) drawn on it.

    `member` names a file inside `path`, as `attachment.pdf` in a mail or `folder/scan.png` in a ZIP. The work is done
    in a child process. Raise DocumentError: `no_page_image` for a kind without pages or a page that is not there,
    `crashed` (also when it takes too long), or what reading the file raises.
    """
    options = options or ParseOptions()
    with tempfile.TemporaryDirectory(prefix="redwell-") as scratch:
        command = {
            "do": "render",
            "path": str(path.absolute()),
            "page": page,
            "boxes": [box_to_json(box) for box in boxes],
            "dpi": dpi,
            "out": str(Path(scratch) / "page.png"),
            "member": member,
            "scratch": scratch,
            "options": options.to_json(),
        }
        check_answer(ask_child(command, options, Path(scratch), [path.absolute()]))
        shutil.move(plain_output(Path(scratch) / "page.png", PNG), out)


def ask_child(command: dict[str, object], options: ParseOptions, folder: Path, reads: Collection[Path]) -> bytes:
    """Run one command in a child of its own, which may write below `folder` and read `reads`.

    Return its answer, empty when it ended without one.
    """
    with subprocess.Popen(
        child_command(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=child_environment(options.threads, folder),
    ) as child:
        # The child ends when its stdin closes, so stdin stays open until the answer is there or the time is up.
        alarm = threading.Timer(4 * options.step_seconds, child.kill)
        alarm.start()
        try:
            if child.stdin is None or child.stdout is None:
                raise RuntimeError("the child is started with pipes")
            child.stdin.write(cage_line(folder, reads) + (json.dumps(command) + "\n").encode())
            child.stdin.flush()
            return child.stdout.readline(LONGEST_LINE)
        finally:
            alarm.cancel()
            child.kill()


def check_answer(answer: bytes) -> None:
    """Raise DocumentError if a child's answer is an error, or none came."""
    if not answer:
        raise DocumentError(
            "the process that draws pages ended without an answer", reason="crashed", advice="Open the file itself."
        )
    read_line(answer)
