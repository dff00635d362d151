"""What the runtime allows on this machine: rates of reading and writing, measured through models.llama_runtime.

usage: python kernel.py MODEL.gguf rates PROMPT_TOKENS SEQUENCES [own] rates at a job's own sizes, as JSON
       python kernel.py MODEL.gguf mixed                               replies written while prompts are read, as JSON
       python kernel.py MODEL.gguf occupied                            one batch with an empty and a full cache, as JSON
       python kernel.py MODEL.gguf distinct REQUESTS.jsonl             sizes of the prompts of a run, as JSON
       python kernel.py MODEL.gguf replies TEXT.txt ...                 rates, and what is said of each text, as JSON
"""

from __future__ import annotations

import json
import math
import os
import statistics
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from trie import trie_size

from models.chat import render_chat
from models.hardware import usable_cores
from models.llama_runtime import LlamaRuntime, LlamaSettings, processor_variant
from models.protocol import Segment

BATCH = 512
"""Tokens of one evaluation, as the backend's default."""

STEPS = 24
"""Evaluations over which the rate of writing is taken."""

LEAST_READ = 2048
"""Tokens over which the rate of reading is taken, at least."""

TEXT = (
    "On March 3, 2019 Officer A (badge 4411) struck a handcuffed suspect twice in the face at 1400 Broadway. "
    "Sergeant B witnessed the incident and failed to report it. The recording ends before the ambulance came. "
)


def open_runtime(path: Path, *, cells: int = 8192, sequences: int = 32) -> LlamaRuntime:
    """Load a model as the backend does, with the threads of REDWELL_THREADS or all usable cores."""
    threads = int(os.environ.get("REDWELL_THREADS") or usable_cores())
    settings = LlamaSettings(cells, running=sequences, kept=0, threads=threads, batch_tokens=BATCH)
    return LlamaRuntime(path, settings)


def some_tokens(runtime: LlamaRuntime, count: int, *, start: int = 0) -> list[int]:
    """Return `count` tokens of prose; another `start` gives others."""
    tokens = runtime.tokenize(TEXT, special=False)
    return [tokens[(start * 7 + i) % len(tokens)] for i in range(count)]


def read(runtime: LlamaRuntime, prompts: Sequence[Sequence[int]], *, first: int = 0) -> None:
    """Evaluate prompts, one sequence each from number `first` on, in batches as full as they get."""
    items = [
        (token, position, first + number, position == len(prompt) - 1)
        for number, prompt in enumerate(prompts)
        for position, token in enumerate(prompt)
    ]
    for begin in range(0, len(items), BATCH):
        runtime.evaluate_tokens(items[begin : begin + BATCH])


def forget(runtime: LlamaRuntime, sequences: Iterable[int]) -> None:
    """Drop sequences."""
    for sequence in sequences:
        runtime.forget(sequence)


def reading_rate(runtime: LlamaRuntime, prompt_tokens: int) -> float:
    """Measure tokens read per second, in prompts of so many tokens that share nothing; the faster of two runs."""
    count = min(16, max(1, round(LEAST_READ / prompt_tokens)))
    rates = []
    for attempt in range(2):
        prompts = [some_tokens(runtime, prompt_tokens, start=n + 31 * attempt) for n in range(count)]
        began = time.perf_counter()
        read(runtime, prompts)
        rates.append(count * prompt_tokens / (time.perf_counter() - began))
        forget(runtime, range(count))
    return max(rates)


def writing_rate(runtime: LlamaRuntime, prompt_tokens: int, sequences: int) -> float:
    """Measure tokens written per second by so many replies together, behind one prompt of so many tokens."""
    prompt = some_tokens(runtime, prompt_tokens)
    read(runtime, [prompt])
    for sequence in range(1, sequences):
        runtime.copy_prefix(0, sequence, len(prompt))
    return _writing_rate(runtime, prompt, sequences)


def _writing_rate(runtime: LlamaRuntime, prompt: Sequence[int], sequences: int) -> float:
    tokens = [(prompt[-1] + 17 * s) % 20_000 + 100 for s in range(sequences)]
    seconds = []
    for step in range(STEPS):
        began = time.perf_counter()
        logits = runtime.evaluate_tokens([(tokens[s], len(prompt) + step, s, True) for s in range(sequences)])
        tokens = [int(row.argmax()) for row in logits]
        seconds.append(time.perf_counter() - began)
    forget(runtime, range(sequences))
    return sequences / statistics.median(seconds)


def own_rates(runtime: LlamaRuntime, prompt_tokens: int, sequences: int) -> tuple[float, float]:
    """Measure tokens read and written per second, once, each reply behind a prompt of its own.

    Some prompts are read; for the other replies their state is copied, which takes cells of its own.
    """
    count = min(sequences, max(1, round(LEAST_READ / prompt_tokens)))
    prompts = [some_tokens(runtime, prompt_tokens, start=n) for n in range(count)]
    began = time.perf_counter()
    read(runtime, prompts)
    seconds = time.perf_counter() - began
    state = runtime.sequence_state(0)
    for sequence in range(count, sequences):
        if not runtime.restore_sequence(sequence, state):
            raise RuntimeError(f"llama.cpp did not take the state of a sequence of {prompt_tokens} tokens")
    return count * prompt_tokens / seconds, _writing_rate(runtime, prompts[0], sequences)


def rates(path: Path, prompt_tokens: int, sequences: int, *, own: bool = False) -> dict[str, float]:
    """Measure both rates at one size; `own` as in own_rates."""
    runtime = open_runtime(path, cells=max(8192, sequences * (prompt_tokens + 2 * STEPS) if own else 0))
    try:
        read(runtime, [some_tokens(runtime, 64)])  # what is slow once is not counted
        forget(runtime, [0])
        if own:
            reading, writing = own_rates(runtime, prompt_tokens, sequences)
        else:
            reading = reading_rate(runtime, prompt_tokens)
            writing = writing_rate(runtime, prompt_tokens, sequences)
        return {"prompt_per_second": reading, "sampled_per_second": writing}
    finally:
        runtime.close()


REPLIES, MIXED_STEPS, READ_BESIDE, PROMPT = 16, 200, 64, 900
"""Replies written together, evaluations of them with tokens of prompts, how many of these, and tokens of a prompt."""


def mixed(path: Path) -> dict[str, float]:
    """Write replies behind prompts of 600 tokens while other prompts are read, then write alone; seconds of both.

    The second figure is the median of STEPS evaluations of one token a reply. It shows how the cells of a reply lie in
    the cache after the first part.
    """
    runtime = open_runtime(path, cells=32_768, sequences=40)
    try:
        read(runtime, [some_tokens(runtime, 600, start=n) for n in range(REPLIES)])
        beside = some_tokens(runtime, PROMPT)
        sequence, position = REPLIES, 0
        began = time.perf_counter()
        for step in range(MIXED_STEPS):
            items = [(beside[(step + s) % PROMPT], 600 + step, s, True) for s in range(REPLIES)]
            for _ in range(READ_BESIDE):
                items.append((beside[position], position, sequence, False))
                position += 1
                if position == PROMPT:
                    sequence, position = sequence + 1, 0
            runtime.evaluate_tokens(items)
        together = time.perf_counter() - began
        seconds = []
        for step in range(MIXED_STEPS, MIXED_STEPS + STEPS):
            began = time.perf_counter()
            runtime.evaluate_tokens([(beside[(step + s) % PROMPT], 600 + step, s, True) for s in range(REPLIES)])
            seconds.append(time.perf_counter() - began)
        return {"mixed_seconds": together, "step_seconds": statistics.median(seconds)}
    finally:
        runtime.close()


OTHERS, OTHER_TOKENS, ROUNDS = 25, 1024, 8


def occupied(path: Path) -> dict[str, float]:
    """Read BATCH tokens with an empty cache and with one that holds 25,600 tokens of others, in turn.

    Returns the least processor seconds of both, of ROUNDS rounds: what is more with a full cache is the search for what
    a token sees. Seconds of the clock say less where other machines share the processor.
    """
    runtime = open_runtime(path, cells=32_768, sequences=OTHERS + 1)
    least = {"empty": math.inf, "full": math.inf}
    try:
        read(runtime, [some_tokens(runtime, OTHER_TOKENS)])
        state = runtime.sequence_state(0)
        forget(runtime, [0])
        for turn in range(ROUNDS):
            for name, others in (("empty", 0), ("full", OTHERS)):
                for sequence in range(1, others + 1):
                    if not runtime.restore_sequence(sequence, state):
                        raise RuntimeError(f"llama.cpp did not take the state of a sequence of {OTHER_TOKENS} tokens")
                prompt = some_tokens(runtime, BATCH, start=turn)
                began = time.process_time()
                read(runtime, [prompt])
                least[name] = min(least[name], time.process_time() - began)
                forget(runtime, range(OTHERS + 1))
    finally:
        runtime.close()
    return {name: round(seconds, 3) for name, seconds in least.items()}


def distinct(path: Path, requests: Path) -> dict[str, Any]:
    """Count the tokens of the trie of all prompts: what must be read if nothing is read twice."""
    runtime = open_runtime(path, cells=512, sequences=1)
    try:
        bos, eos = runtime.special_text("bos"), runtime.special_text("eos")
        prompts = []
        for line in requests.read_text(encoding="utf-8").splitlines():
            segments = [Segment(role, text) for role, text in json.loads(line)["segments"]]
            pieces = render_chat(runtime.chat_template, segments, bos=bos, eos=eos)
            tokens = [t for p in pieces for t in runtime.tokenize(p.text, special=p.is_template)]
            prompts.append(np.asarray(tokens, np.int32))
    finally:
        runtime.close()
    lengths = [int(p.size) for p in prompts]
    return {
        "distinct_tokens": trie_size(prompts),
        "prompt_tokens": sum(lengths),
        "median_prompt_tokens": statistics.median(lengths) if lengths else 0,
    }


QUESTION = "Name every police officer in this record, with rank and badge number, one per line."
SHOWN, SAID = 2000, 64
"""Characters of a text that are shown, and tokens of a reply that are compared."""


def replies(path: Path, texts: Sequence[Path]) -> dict[str, Any]:
    """Answer a question about each text at temperature 0; return the replies and tokens per second, read and written.

    A reply is the list of its tokens, up to SAID; the odds of its first token come with it, as logits.
    """
    runtime = open_runtime(path, sequences=2)
    took = {"read": 0.0, "written": 0.0}
    tokens_of = {"read": 0, "written": 0}
    said: list[list[int]] = []
    first: list[list[float]] = []
    try:
        read(runtime, [some_tokens(runtime, 64)])  # what is slow once is not counted
        forget(runtime, [0])
        bos, eos = runtime.special_text("bos"), runtime.special_text("eos")
        for text in texts:
            segments = [Segment("user", f"{text.read_text(encoding='utf-8')[:SHOWN]}\n\n{QUESTION}")]
            pieces = render_chat(runtime.chat_template, segments, bos=bos, eos=eos)
            prompt = [token for p in pieces for token in runtime.tokenize(p.text, special=p.is_template)]
            began = time.perf_counter()
            read(runtime, [prompt[:-1]])
            took["read"] += time.perf_counter() - began
            tokens_of["read"] += len(prompt) - 1
            token, reply = prompt[-1], []
            began = time.perf_counter()
            for position in range(len(prompt) - 1, len(prompt) - 1 + SAID):
                logits = runtime.evaluate_tokens([(token, position, 0, True)])[0]
                token = int(logits.argmax())
                if not reply:
                    first.append([round(float(value), 4) for value in logits[:1000]])
                reply.append(token)
            took["written"] += time.perf_counter() - began
            tokens_of["written"] += SAID
            said.append(reply)
            forget(runtime, [0])
    finally:
        runtime.close()
    rates_of = {name: tokens_of[name] / took[name] for name in took}
    return {"rates": rates_of, "processor": processor_variant(), "said": said, "first": first}


def main(arguments: list[str]) -> int:
    path, what, *rest = arguments
    if what == "rates":
        told: dict[str, Any] = rates(Path(path), int(rest[0]), int(rest[1]), own="own" in rest[2:])
    elif what == "mixed":
        told = mixed(Path(path))
    elif what == "occupied":
        told = occupied(Path(path))
    elif what == "replies":
        told = replies(Path(path), [Path(name) for name in rest])
    else:
        told = distinct(Path(path), Path(rest[0]))
    print(json.dumps(told))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
