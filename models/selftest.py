"""Find out whether the inference runtime works on this CPU, in a child process: a crash must not be ours.

Run as a program (`python -m models.selftest MODEL.gguf`) it is the child: it loads the model, evaluates one
prompt in batches, decodes one constrained reply, asks the same once more among other questions, then prints one line
of JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from models.download import never, run_program
from models.fence.process import die_with_parent
from models.isolation.cage import end, enter_model_cage, model_environment, report
from models.isolation.ending import Ending
from models.protocol import ModelSpec, Request, Sampling, Segment, runtime_of

Result = TypeVar("Result")

TIMEOUT_SECONDS = 300.0
PROMPT = "Records of a fictional harbour, read aloud. " * 20
"""Long enough for the matrix kernels of prompt evaluation, which differ from those of a single token."""


@dataclass(frozen=True, slots=True)
class SelfTest:
    """What came of it. `crashed` is true when the child died of a signal, as a wrong build does.

    `reproducible` says whether a reply was the same, to the last bit of its probability, alone and among others.
    """

    ok: bool
    detail: str
    seconds: float
    crashed: bool = False
    reproducible: bool = False


def run_selftest(model: Path, *, is_given_up: Callable[[], bool] = never) -> SelfTest:
    """Decode once in a child process with the model at that path. Never raises for what the child does."""
    began = time.monotonic()
    answer = run_child("models.selftest", model, timeout_seconds=TIMEOUT_SECONDS, is_given_up=is_given_up)
    if answer is None:
        return SelfTest(False, f"no answer within {TIMEOUT_SECONDS:.0f} s", TIMEOUT_SECONDS)
    return judge(answer.returncode, answer.stdout, answer.stderr, time.monotonic() - began)


def run_child(
    module: str, model: Path, *options: str, timeout_seconds: float, is_given_up: Callable[[], bool] = never
) -> subprocess.CompletedProcess[str] | None:
    """Run a module of ours as a program on a model; None when it took too long, or soon after it was given up."""
    root = str(Path(__file__).resolve().parent.parent)
    paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
    # -P: no module of the current folder, which may be one of records.
    command = [sys.executable, "-P", "-m", module, str(model), *options]
    environment = {**model_environment(), "PYTHONPATH": os.pathsep.join(paths)}
    return run_program(command, is_given_up, timeout_seconds=timeout_seconds, environment=environment)


def run_caged(model: Path, work: Callable[[Path], Coroutine[Any, Any, Result]]) -> Result:
    """Do the work of a child with a model file, in the cage of a model's process. Raises what it raises; OSError."""
    with asyncio.Runner() as runner:
        runner.get_loop()  # in the cage it could not be made: it takes a pair of sockets
        enter_model_cage(runtime_of(model), str(model))
        return runner.run(work(model))


def judge(code: int, output: str, complaint: str, seconds: float) -> SelfTest:
    """Say what a child's end means: its exit code, standard output and standard error."""
    if name := Ending(code).signal_name:
        return SelfTest(False, f"the runtime crashed on this CPU ({name})", seconds, crashed=True)
    last = (output.strip().splitlines() or [""])[-1]
    try:
        told = json.loads(last)
    except ValueError:
        told = None
    if code == 0 and isinstance(told, dict):
        same = bool(told["reproducible"])
        detail = "a question was answered" + (
            ", and the same among others" if same else ", not quite the same among others"
        )
        if kind := told.get("processor"):
            detail += f" (llama.cpp for {kind})"
        return SelfTest(True, detail, seconds, reproducible=same)
    reason = (complaint.strip().splitlines() or [f"exit code {code}"])[-1]
    return SelfTest(False, reason, seconds)


async def _ask_once(model: Path) -> dict[str, object]:
    # Imported here: the parent must not load the runtime that may crash.
    from models.opening import open_here  # noqa: PLC0415

    runtime = runtime_of(model)
    small = {"context_tokens": 2048, "running": 8, **({"kept": 0} if runtime == "llama" else {})}
    backend = open_here(ModelSpec(runtime, model.stem, str(model), "self-test", small))

    def request(text: str) -> Request:
        schema = json.dumps({"type": "boolean"})
        return Request((Segment("user", text),), schema, Sampling(max_tokens=8), probabilities=True)

    try:
        alone = await backend.ask(request(PROMPT))
        # Others first, so that what is asked again lies elsewhere in the cache and shares batches with them.
        texts = ["Is the harbour open?", f"Ships: {PROMPT[:300]}", "A tide table. " * 9, PROMPT, "Is it fictional?"]
        again = (await asyncio.gather(*(backend.ask(request(text)) for text in texts)))[3]
    finally:
        await backend.close()
    same = (alone.text, alone.probabilities) == (again.text, again.probabilities)
    kind = ""
    if runtime == "llama":
        from models.llama_runtime import processor_variant  # noqa: PLC0415

        kind = processor_variant()
    return {"prompt_tokens": alone.prompt_tokens, "text": alone.text, "reproducible": same, "processor": kind}


if __name__ == "__main__":
    die_with_parent()
    end(report(lambda: run_caged(Path(sys.argv[1]), _ask_once)))
