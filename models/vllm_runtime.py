"""vLLM in this process: what it is told and what it answers. The only module that imports vllm, when a model opens.

vLLM is run by its own synchronous engine, so that one thread of ours drives it step by step: nothing else listens to
requests, and a request that is aborted is out of the next step. Its token masks come from the same llguidance as ours.
"""

from __future__ import annotations

import importlib
import math
import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from models.choices import MOST_TOKENS
from models.errors import ModelCrashed, ModelError, RuntimeMissing
from models.guided import Asked
from models.layouts import LayoutName

TESTED = "0.32"
"""The vLLM that the contract tests ran with; the extra [vllm] asks for it."""

OFFLINE = {
    "DO_NOT_TRACK": "1",
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_DO_NOT_TRACK": "1",
    "VLLM_HOST_IP": "127.0.0.1",
    "VLLM_LOOPBACK_IP": "127.0.0.1",
    "GLOO_SOCKET_IFNAME": "lo0" if platform.system() == "Darwin" else "lo",
    "NCCL_SOCKET_IFNAME": "lo",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "0",
}
"""Set before vLLM is imported, whatever they were: nothing is fetched or reported, and sockets stay on the loopback."""

QUIET = {"VLLM_LOGGING_LEVEL": "ERROR", "VLLM_LOGGING_STREAM": "ext://sys.stderr", "VLLM_PLUGINS": ""}
"""Set unless the user has: other packages' plugins are not loaded, and standard output stays ours."""

_FAULTS = (
    *(ArithmeticError, AssertionError, AttributeError, ImportError, LookupError),
    *(MemoryError, OSError, RuntimeError, TypeError, ValueError),
)
"""What vLLM raises when a model does not load or a step fails, out-of-memory (a RuntimeError of torch) included.

Its own errors (VLLMError) come on top, once it is imported.
"""

Ending = Literal["", "stop", "length", "abort", "error"]


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """What an engine is loaded with. `context_tokens` None means as many as the model has and the memory allows.

    `layout` None is the default one (models.layouts).
    `memory_share` is the share of each card's memory (of the machine's, without a card) that vLLM takes at once.
    """

    context_tokens: int | None = None
    running: int = 64
    memory_share: float = 0.9
    cards: int = 1
    dtype: str = "auto"
    layout: LayoutName | None = None


@dataclass(eq=False, kw_only=True)
class Task(Asked[Sequence[int]]):
    """One request in the thread that drives vLLM; `grammar` is what vLLM compiles its own guide from (models.guides).

    vLLM samples every token, those too that the schema leaves no choice about.
    """

    grammar: str


@dataclass(frozen=True, slots=True)
class Written:
    """What one step wrote of one reply: its next tokens, and why it ended if it did.

    `odds` has, if they were asked for, one pair per token: the tokens that the mask allowed and their probabilities.
    `reused_tokens` of the prompt came from the prefix cache.
    """

    id: str
    tokens: Sequence[int]
    odds: Sequence[tuple[NDArray[np.intp], NDArray[np.float64]]] = ()
    ending: Ending = ""
    reused_tokens: int = 0


class VllmEngine:
    """vLLM's own engine. One thread opens it and drives it."""

    def __init__(self, folder: Path, settings: EngineSettings) -> None:
        """Load the model of a folder; blocks. Raises RuntimeMissing, or ModelError with vLLM's own numbers."""
        _prepare_environment()
        try:
            arguments = importlib.import_module("vllm.engine.arg_utils")
            engines = importlib.import_module("vllm.v1.engine.llm_engine")
            self._parameters: Any = importlib.import_module("vllm.sampling_params")
            self._inputs: Any = importlib.import_module("vllm.inputs.engine")
            vllm_error = importlib.import_module("vllm.exceptions").VLLMError
        except _FAULTS as error:
            raise _missing(error) from error
        self._faults: tuple[type[Exception], ...] = (*_FAULTS, vllm_error)
        try:
            made = arguments.EngineArgs(**_engine_arguments(folder, settings))
            self._engine: Any = engines.LLMEngine.from_engine_args(made)
        except ImportError as error:  # much of vLLM is imported when a model is loaded
            raise _missing(error) from error
        except self._faults as error:
            raise _load_error(folder, settings, error) from error

    @property
    def context_tokens(self) -> int:
        """Return how many tokens a prompt and its reply may have together: what vLLM settled on."""
        return int(self._engine.vllm_config.model_config.max_model_len)

    def add(self, id: str, task: Task) -> None:
        """Hand a request to vLLM; raises ModelError if it cannot be run."""
        try:
            sampling = self._parameters.SamplingParams(
                temperature=task.sampling.temperature,
                seed=task.seed,
                # One more for the token that ends a reply: our limit does not count it.
                max_tokens=task.sampling.max_tokens + 1,
                logprobs=MOST_TOKENS if task.keep_steps else None,
                detokenize=False,
                output_kind=self._parameters.RequestOutputKind.DELTA,
                structured_outputs=self._parameters.StructuredOutputsParams(grammar=task.grammar),
            )
            prompt = self._inputs.tokens_input(list(task.prompt))
            self._engine.add_request(id, prompt, sampling)
        except self._faults as error:
            raise ModelError(
                f"vLLM does not take this request: {_line(error)}",
                advice="Simplify the output schema of this operator, or set its temperature from 0 to 2.",
            ) from error

    def step(self) -> list[Written]:
        """Run the model once over the requests it has. Raises ModelCrashed: the engine is of no use after that."""
        try:
            outputs = self._engine.step()
        except self._faults as error:
            raise ModelCrashed(
                f"vLLM failed: {_line(error)}",
                advice="Run the command again: finished replies are kept. If it repeats, lower REDWELL_CONTEXT_TOKENS, "
                "REDWELL_SEQUENCES or REDWELL_VLLM_MEMORY.",
            ) from error
        return [_written(output) for output in outputs]

    def abort(self, ids: Sequence[str]) -> None:
        """Forget requests; those that vLLM does not know are passed over."""
        self._engine.abort_request(list(ids))

    def close(self) -> None:
        """Stop vLLM and free its memory; idempotent."""
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.engine_core.shutdown()


def _prepare_environment() -> None:
    os.environ.update(OFFLINE)
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)


def _engine_arguments(folder: Path, settings: EngineSettings) -> dict[str, Any]:
    """Say how vLLM is loaded: only safetensors, no program code of the folder, none of its sampling defaults."""
    return {
        "model": str(folder),
        "load_format": "safetensors",
        "trust_remote_code": False,
        "generation_config": "vllm",
        "enable_prefix_caching": True,
        "structured_outputs_config": {"backend": "guidance"},
        # vLLM takes -1 for: the model's own, or less where the memory does not hold it.
        "max_model_len": settings.context_tokens or -1,
        "max_num_seqs": settings.running,
        "max_logprobs": MOST_TOKENS,
        "logprobs_mode": "raw_logprobs",
        "gpu_memory_utilization": settings.memory_share,
        "tensor_parallel_size": settings.cards,
        "dtype": settings.dtype,
        "disable_log_stats": True,
    }


def _written(output: Any) -> Written:
    reply = output.outputs[0]
    return Written(
        id=output.request_id,
        tokens=list(reply.token_ids),
        odds=[_odds(step.items()) for step in reply.logprobs or ()],
        ending=(reply.finish_reason or "abort") if output.finished else "",
        reused_tokens=output.num_cached_tokens or 0,
    )


def _odds(step: Iterable[tuple[int, Any]]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Read the log probabilities of one step. vLLM takes them after the mask: those it forbids are minus infinity."""
    allowed = [(token, math.exp(entry.logprob)) for token, entry in step if entry.logprob > -math.inf]
    return np.array([token for token, _ in allowed], np.intp), np.array([odds for _, odds in allowed], np.float64)


def _missing(error: BaseException) -> RuntimeMissing:
    return RuntimeMissing(
        f"vLLM, or a package it needs, cannot be imported: {_line(error)}",
        advice=f"Install vLLM {TESTED} in a clone of Redwell (`.venv/bin/pip install -e '.[vllm]'`), see docs/gpu.md.",
    )


def _load_error(folder: Path, settings: EngineSettings, error: BaseException) -> ModelError:
    wanted = f"a context of {settings.context_tokens or 'all'} tokens, {settings.memory_share:.0%} of "
    wanted += "the card's memory" if settings.cards == 1 else f"the memory of {settings.cards} cards"
    return ModelError(
        f"vLLM could not load {folder} with {wanted}: {_line(error)}",
        advice="Set REDWELL_CONTEXT_TOKENS to a smaller number, REDWELL_VLLM_MEMORY to the percentage of memory that "
        "is free, or REDWELL_VLLM_CARDS to more cards; or use a smaller model. See docs/gpu.md.",
    )


def _line(error: BaseException) -> str:
    """Return an error on one line, without what no user can use."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 600 else f"{text[:600]} …"
