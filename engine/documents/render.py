"""Write the picture of a page, with boxes that show where something was found."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from engine.documents.answers import LONGEST_LINE, plain_output, read_line
from engine.documents.codec import box_to_json
from engine.documents.document import Box
from engine.documents.leftovers import scratch_folder
from engine.documents.options import ParseOptions
from engine.documents.parsers import cage_line, child_command, child_environment
from engine.errors import DocumentError

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
    options = options or ParseOptions()
    with _scratch(child) as scratch:
        command: dict[str, object] = {
            "do": "render",
            "path": str(path.absolute()),
            "page": page,
            "boxes": [box_to_json(box) for box in boxes],
            "dpi": dpi,
            "out": str(scratch / "page.png"),
            "member": member,
            "member_id": member_id,
            "scratch": str(scratch),
            "options": options.to_json(),
        }
        if child is None:
            check_answer(ask_child(command, options, scratch, [path.absolute()]))
        else:
            check_answer(child.ask(command))
        shutil.move(plain_output(scratch / "page.png", PNG), out)


@contextmanager
def _scratch(child: Child | None) -> Iterator[Path]:
    """Yield an empty folder: in that of a child, which may write nowhere else, or one of its own."""
    if child is None:
        with scratch_folder() as folder:
            yield folder
    else:
        with tempfile.TemporaryDirectory(dir=child.folder) as name:
            yield Path(name)


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

    def ask(self, command: Mapping[str, object]) -> bytes:
        """Have one command done; return the answer, empty when the child ended without one or took too long."""
        process = self._process = self._process or self._start()
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("the child is started with pipes")
        alarm = threading.Timer(4 * self._options.step_seconds, process.kill)
        alarm.start()
        try:
            process.stdin.write((json.dumps(command) + "\n").encode())
            process.stdin.flush()
            answer = process.stdout.readline(LONGEST_LINE)
        except BrokenPipeError:  # it ended before it was asked
            answer = b""
        finally:
            alarm.cancel()
        if not answer:
            self.close()
        return answer

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


def ask_child(command: Mapping[str, object], options: ParseOptions, folder: Path, reads: Collection[Path]) -> bytes:
    """Run one command in a child of its own (Child); return its answer, empty when it ended without one."""
    with Child(options, folder, reads) as child:
        return child.ask(command)


def check_answer(answer: bytes) -> None:
    """Raise DocumentError if a child's answer is an error, or none came."""
    if not answer:
        raise DocumentError(
            "the process that draws pages ended without an answer", reason="crashed", advice="Open the file itself."
        )
    read_line(answer)
