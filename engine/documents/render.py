"""Children for single commands: write the picture of a page, with boxes that show where something was found."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from pathlib import Path

from engine.documents.answers import LONGEST_LINE, plain_output, read_line
from engine.documents.codec import box_to_json
from engine.documents.document import Box
from engine.documents.leftovers import scratch_folder
from engine.documents.options import ParseOptions
from engine.documents.parsers import cage_line, child_command, child_environment
from engine.errors import DocumentError
from models.fence.attempt import Attempt

WITH_PAGES = frozenset(("pdf", "image"))
"""The kinds of files whose pages can be drawn."""

PNG = b"\x89PNG\r\n\x1a\n"
"""How every such picture begins."""


def render_page(  # noqa: PLR0913 - what is drawn, and how
    path: Path,
    page: int,
    *,
    boxes: Sequence[Box],
    out: Path,
    dpi: int = 150,
    member: str = "",
    member_id: str | None = None,
    options: ParseOptions | None = None,
    child: Child | None = None,
) -> None:
    """Write page `page` (from 1) of a PDF or picture as a PNG to `out`, with `boxes` (points) drawn on it.

    `member` names a file inside `path`, as `attachment.pdf` in a mail or `folder/scan.png` in a ZIP; `member_id` is its
    digest, where that is known. The work is done in a child process, `child` if there is one. Raise DocumentError:
    `no_page_image` for a kind without pages or a page that is not there, `crashed` (also when it takes too long), or
    what reading the file raises.
    """
    drawing = nullcontext(child) if child else own_child(options or ParseOptions(), [path.absolute()])
    with drawing as drawer, tempfile.TemporaryDirectory(dir=drawer.folder) as scratch:
        picture = Path(scratch, "page.png")
        command = {
            "do": "render",
            "path": str(path.absolute()),
            "page": page,
            "boxes": [box_to_json(box) for box in boxes],
            "dpi": dpi,
            "out": str(picture),
            "member": member,
            "member_id": member_id,
            "scratch": scratch,
        }
        drawer.ask(command)
        shutil.move(plain_output(picture, PNG), out)


def no_pages(kind: str) -> DocumentError:
    """Make the error for a file of a kind whose pages cannot be drawn."""
    return DocumentError(
        f"a file of kind {kind} has no pages to show as a picture",
        reason="no_page_image",
        advice="Show its lines instead.",
    )


def try_from_child() -> Attempt:
    """Let a child, confined as for any file, ask for a socket, to see that it gets none. Raises DocumentError."""
    with own_child(ParseOptions(threads=1), []) as child:
        out = child.folder / "attempt.json"
        child.ask({"do": "attempt", "out": str(out)})
        return Attempt(**json.loads(out.read_text(encoding="utf-8")))


class Child:
    """A child process for one command after the other, which may write below `folder` and read `reads`.

    It is started when it is first asked, and again after it has died.
    """

    def __init__(self, options: ParseOptions, folder: Path, reads: Collection[Path]) -> None:
        self.folder = folder
        self._options, self._reads = options, reads
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def ask(self, command: Mapping[str, object]) -> None:
        """Run one command in the child. Raises the DocumentError that it reports, or `crashed` if none comes."""
        process = self._process = self._process or self._start()
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("the child is started with pipes")
        alarm = threading.Timer(4 * self._options.step_seconds, process.kill)
        alarm.start()
        try:
            process.stdin.write((json.dumps({**command, "options": asdict(self._options)}) + "\n").encode())
            process.stdin.flush()
            answer = process.stdout.readline(LONGEST_LINE)
        except BrokenPipeError:  # it ended before it was asked
            answer = b""
        finally:
            alarm.cancel()
        if not answer:
            self.close()
            raise DocumentError(
                "the process that draws pages ended without an answer", reason="crashed", advice="Open the file itself."
            )
        read_line(answer)

    def close(self) -> None:
        """End the child, if there is one."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            with contextlib.suppress(BrokenPipeError):  # what it has not read goes with it
                process.__exit__(None, None, None)

    def _start(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            child_command(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=child_environment(self._options.threads, self.folder),
        )
        # The child ends when its stdin closes, so stdin stays open.
        if process.stdin is not None:
            process.stdin.write(cage_line(self.folder, self._reads))
        return process


@contextmanager
def own_child(options: ParseOptions, reads: Collection[Path]) -> Iterator[Child]:
    """Yield a child with a temporary folder of its own; end it and remove the folder afterwards."""
    with scratch_folder() as folder, Child(options, folder, reads) as child:
        yield child
