"""Find out whether the inference runtime works on this CPU, in a child process: a crash must not be ours.

Run as a program (`python -m models.selftest MODEL.gguf`) it is the child: it loads the model, evaluates one
prompt in batches and decodes one constrained reply, then prints one line of JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from models.errors import ModelError

TIMEOUT_SECONDS = 300.0
PROMPT = "Records of a fictional harbour, read aloud. " * 20
"""Long enough for the matrix kernels of prompt evaluation, which differ from those of a single token."""


@dataclass(frozen=True, slots=True)
class SelfTest:
    """What came of it. `crashed` is true when the child died of a signal, as a wrong build does."""

    ok: bool
    detail: str
    seconds: float
    crashed: bool = False


def run_selftest(model: Path, *, timeout_seconds: float = TIMEOUT_SECONDS) -> SelfTest:
    """Decode once in a child process with the model at that path. Never raises for what the child does."""
    began = time.monotonic()
    command = [sys.executable, "-m", "models.selftest", str(model)]
    root = str(Path(__file__).resolve().parent.parent)
    paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
    try:
        answer = subprocess.run(
            command,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=timeout_seconds,
            check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        )
    except subprocess.TimeoutExpired:
        return SelfTest(False, f"no answer within {timeout_seconds:.0f} s", timeout_seconds)
    return judge(answer.returncode, answer.stdout, answer.stderr, time.monotonic() - began)


def judge(code: int, output: str, complaint: str, seconds: float) -> SelfTest:
    """Say what a child's end means: its exit code, standard output and standard error."""
    if code < 0:
        name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
        return SelfTest(False, f"the runtime crashed on this CPU ({name})", seconds, crashed=True)
    last = (output.strip().splitlines() or [""])[-1]
    try:
        report = json.loads(last)
    except ValueError:
        report = None
    if code == 0 and isinstance(report, dict):
        return SelfTest(True, f"{report['prompt_tokens']} tokens read, replied {report['text']}", seconds)
    reason = (complaint.strip().splitlines() or [f"exit code {code}"])[-1]
    return SelfTest(False, reason, seconds)


async def _ask_once(model: Path) -> dict[str, object]:
    # Imported here: the parent must not load the runtime that may crash.
    from models.llama import LlamaBackend, LlamaSettings  # noqa: PLC0415
    from models.protocol import Request, Sampling, Segment  # noqa: PLC0415

    settings = LlamaSettings(context_tokens=1024, running=2, kept=0)
    backend = LlamaBackend(model, digest="self-test", name=model.stem, settings=settings)
    try:
        reply = await backend.ask(
            Request((Segment("user", PROMPT),), json.dumps({"type": "boolean"}), Sampling(max_tokens=8))
        )
    finally:
        await backend.close()
    return {"prompt_tokens": reply.prompt_tokens, "text": reply.text}


def main(arguments: list[str]) -> int:
    """Be the child: print one line of JSON and exit 0, or say why not and exit 1."""
    try:
        report = asyncio.run(_ask_once(Path(arguments[0])))
    except (ModelError, ImportError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(json.dumps(report) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
