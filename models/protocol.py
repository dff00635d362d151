"""What the engine and a model backend say to each other: Request, Reply, ModelBackend."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

CHARACTERS_PER_TOKEN = 4
"""English text, where the model's own tokenizer was not measured (`redwell doctor --measure`)."""

Role = Literal["system", "user", "assistant"]


RuntimeName = Literal["llama", "vllm", "server"]


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A model and how to run it: plain data, so that another process can be told to open it.

    `location` is the path of the weights, a file or a folder, and `digest` identifies them (SHA-256, hexadecimal). For
    "server" it is the address, and the digest is asked of the server. `settings` are those of the runtime that differ
    from its defaults: fields of models.llama_runtime.LlamaSettings, models.vllm_runtime.EngineSettings or
    models.servers.backend.ServerSettings.
    """

    runtime: RuntimeName
    name: str
    location: str
    digest: str
    settings: dict[str, Any] = field(default_factory=dict)


def runtime_of(path: Path) -> RuntimeName:
    """Name the runtime for weights on this machine: llama.cpp runs GGUF files, vLLM folders of safetensors."""
    return "vllm" if path.is_dir() else "llama"


@dataclass(frozen=True, slots=True)
class Segment:
    """One piece of a prompt. Consecutive segments of one role form one chat message.

    `shared` marks text that other requests begin with too (a document, the instructions),
    so a backend may keep its KV cache.
    """

    role: Role
    text: str
    shared: bool = False


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are chosen. `temperature` 0 is greedy; `max_tokens` bounds the reply, inclusive."""

    temperature: float = 0.0
    max_tokens: int = 2048


@dataclass(frozen=True, slots=True)
class Purpose:
    """What a request is for: shown in progress and errors, never part of its identity."""

    operator: str = ""
    row_id: str = ""
    task: str = ""


@dataclass(frozen=True)
class Request:
    """Ask for one JSON value that fits `schema_json` (canonical JSON Schema text).

    With `probabilities`, the reply says how sure the model was of each choice (Reply.probabilities).
    `timeout_seconds` bounds the time from when the model begins to read the prompt; waiting for its turn is free.
    """

    segments: tuple[Segment, ...]
    schema_json: str
    sampling: Sampling = Sampling()
    seed: int = 0
    probabilities: bool = False
    timeout_seconds: float | None = field(default=None, compare=False)
    purpose: Purpose = field(default=Purpose(), compare=False)

    @property
    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema as a fresh dictionary."""
        value: dict[str, Any] = json.loads(self.schema_json)
        return value

    @cached_property
    def digest(self) -> str:
        """Identify everything that decides the reply except the model: SHA-256, hexadecimal."""
        body = {
            "segments": [[s.role, s.text] for s in self.segments],
            "schema": self.schema_json,
            "sampling": [self.sampling.temperature, self.sampling.max_tokens],
            "seed": self.seed,
            **({"probabilities": True} if self.probabilities else {}),
        }
        return hashlib.sha256(canonical_json(body).encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Reply:
    """A value that fits the request's schema, and what it cost.

    Token counts: `prompt_tokens` is the whole prompt, of which `reused_tokens` came from the prefix
    cache; `sampled_tokens` were chosen by the model, `forced_tokens` were fixed by the schema.
    Times are seconds. `from_cache` is set when the reply was read from the case file. `probabilities` maps the JSON
    pointer of each choice (enum, boolean, null or not) to the probability of what was chosen, among what the schema
    allows; `alternatives` maps that of each enum of at most 16 texts, and of each boolean ("true", "false"), to the
    probability of each value. Both are empty unless the request asked for them (models.choices).
    """

    value: Any
    text: str
    prompt_tokens: int = 0
    reused_tokens: int = 0
    sampled_tokens: int = 0
    forced_tokens: int = 0
    queue_seconds: float = 0.0
    seconds: float = 0.0
    from_cache: bool = False
    probabilities: Mapping[str, float] = field(default_factory=dict)
    alternatives: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


def pointer_to(field: str) -> str:
    """Write the JSON pointer of a field of an object (RFC 6901)."""
    return "/" + field.replace("~", "~0").replace("/", "~1")


@runtime_checkable
class ModelBackend(Protocol):
    """A model on this machine. Safe to call `ask` hundreds of times at once from one event loop."""

    @property
    def digest(self) -> str:
        """Identify the weights: SHA-256 of the model file, hexadecimal."""

    @property
    def name(self) -> str:
        """Return the name a person knows the model by."""

    @property
    def layout(self) -> str:
        """Name the layout of replies (models.layouts), which decides them as weights do; "" where it is not ours."""

    @property
    def context_tokens(self) -> int:
        """Return how many tokens one request may use: prompt and reply together."""

    def count_tokens(self, text: str) -> int:
        """Count the tokens of plain text with the model's own tokenizer."""

    def count_prompt_tokens(self, request: Request) -> int:
        """Count the tokens of the whole prompt, chat template included."""

    async def ask(self, request: Request) -> Reply:
        """Answer one request.

        Raises PromptTooLong, OutOfTokens, TimedOut, InvalidSchema or ModelCrashed (models.errors).
        """

    async def close(self) -> None:
        """Stop, failing requests in flight; idempotent."""


def canonical_json(value: Mapping[str, Any] | list[Any] | Any) -> str:
    """Write JSON in one fixed form: UTF-8, no spaces. Key order is kept, for it is the order of generation."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
