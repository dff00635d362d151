"""The vLLM backend: an engine on a thread of its own behind an asynchronous `ask`. For graphics cards."""

from __future__ import annotations

import asyncio
import itertools
import json
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from models.chat import KEPT_TEXTS
from models.choices import Step
from models.environment import LEAST_CONTEXT, context_tokens, one_of, whole_number
from models.errors import InvalidSchema, ModelCrashed, ModelError, OutOfTokens, TimedOut
from models.guided import Guided, Inbox
from models.guides import GuideCompiler
from models.hardware import Gpu, find_gpus
from models.layouts import DEFAULT_LAYOUT, Layout, layout_named
from models.model_folder import BadModelFolder, FolderHeader, FolderTexts, read_folder, read_texts
from models.protocol import Request
from models.replies import reply_limit
from models.vllm_runtime import EngineSettings, Task, VllmEngine, Written

MOST_RUNNING = 1024

DTYPES = ("auto", "half", "bfloat16", "float")

OpenEngine = Callable[[Path, EngineSettings], VllmEngine]


def settings_from_environment(**given: Any) -> EngineSettings:
    """Read REDWELL_CONTEXT_TOKENS, _SEQUENCES and _VLLM_MEMORY (percent), _CARDS, _DTYPE; what is `given` goes first.

    Raises ModelError naming the variable and its valid values.
    """
    settings = EngineSettings()
    percent = whole_number("REDWELL_VLLM_MEMORY", 1, 99)
    read = {
        "context_tokens": context_tokens(),
        "running": whole_number("REDWELL_SEQUENCES", 1, MOST_RUNNING) or settings.running,
        "memory_share": percent / 100 if percent else settings.memory_share,
        "cards": whole_number("REDWELL_VLLM_CARDS", 1, 64) or settings.cards,
        "dtype": one_of("REDWELL_VLLM_DTYPE", DTYPES) or settings.dtype,
    }
    return replace(settings, **{**read, **given})


def check_memory(header: FolderHeader, settings: EngineSettings, cards: tuple[Gpu, ...]) -> None:
    """Refuse a model that the cards cannot hold, before it is loaded; raises ModelError with the numbers.

    Weights and one context must fit into the share of memory that vLLM takes. What a card computes with comes on top,
    so vLLM may still refuse. Without a card (the CPU's build of vLLM) vLLM itself decides.
    """
    cuda = [card for card in cards if card.interface == "cuda"]
    if not cuda:
        return
    if len(cuda) < settings.cards:
        raise ModelError(
            f"REDWELL_VLLM_CARDS is {settings.cards}, but there are {len(cuda)} cards",
            advice="Set REDWELL_VLLM_CARDS to the number of cards that vLLM may use.",
        )
    budget = int(settings.memory_share * sum(card.memory_bytes for card in cuda[: settings.cards]))
    context = settings.context_tokens or LEAST_CONTEXT
    needed = header.weights_bytes + context * header.kv_bytes_per_token
    if needed > budget:
        raise ModelError(
            f"{header.name} needs {needed / 1e9:.1f} GB ({header.weights_bytes / 1e9:.1f} GB of weights and a context "
            f"of {context} tokens), but {settings.memory_share:.0%} of {settings.cards} "
            f"card{'s' if settings.cards > 1 else ''} is {budget / 1e9:.1f} GB",
            advice="Set REDWELL_CONTEXT_TOKENS to a smaller number or REDWELL_VLLM_CARDS to more cards, "
            "or use a smaller or quantized model.",
        )


class VllmBackend(Guided[Task]):
    """A model folder run by vLLM in this process (models.protocol.ModelBackend)."""

    def __init__(
        self,
        folder: Path,
        *,
        digest: str,
        name: str,
        settings: EngineSettings | None = None,
        open_engine: OpenEngine = VllmEngine,
    ) -> None:
        """Load the model; `digest` identifies the folder's files. Raises ModelError if it cannot be loaded."""
        settings = settings or settings_from_environment()
        header, texts = read_folder(folder), read_texts(folder)
        if settings.context_tokens and header.context_tokens:
            settings = replace(settings, context_tokens=min(settings.context_tokens, header.context_tokens))
        check_memory(header, settings, find_gpus())
        self.digest = digest
        self.name = name
        self._template, self._bos, self._eos = texts.chat_template, texts.bos, texts.eos
        self._tokenizer = FolderTokenizer(texts)
        self._guides = _guides(folder, header, self._tokenizer, layout_named(settings.layout or DEFAULT_LAYOUT))
        self._pieces = lru_cache(maxsize=KEPT_TEXTS)(self._tokenize)
        self._inbox = Inbox(name)
        opened: Future[int] = Future()
        work = (lambda: open_engine(folder, settings), settings.running, opened)
        self._thread = threading.Thread(target=self._serve, args=work, name=f"model {name}", daemon=True)
        self._thread.start()
        # One token less: the one that ends a reply has a place of its own.
        self.context_tokens = opened.result() - 1

    def _work(self, request: Request, deliver: Callable[[Task, ModelError | None], None]) -> Task:
        prompt = [token for _, tokens in self._prompt_pieces(request) for token in tokens]
        return Task(
            prompt=prompt,
            grammar=self._guides.grammar(request.schema_json),
            guide=self._guides.compile(request.schema_json),
            sampling=replace(request.sampling, max_tokens=reply_limit(request, len(prompt), self.context_tokens)),
            seed=request.seed,
            deliver=deliver,
            keep_steps=request.probabilities,
            timeout_seconds=request.timeout_seconds,
        )

    async def close(self) -> None:
        """Stop the engine and free its memory; requests in flight fail. Idempotent."""
        self._inbox.end()
        await asyncio.to_thread(self._thread.join)

    def _tokenize(self, text: str, special: bool) -> tuple[int, ...]:
        return tuple(self._tokenizer.encode(text, special=special))

    def _serve(self, open_engine: Callable[[], VllmEngine], running: int, opened: Future[int]) -> None:
        """Open the engine and run it until closed, all on this thread. However it ends, no request is left waiting."""
        try:
            engine = open_engine()
        except Exception as error:  # noqa: BLE001 - raised again where the model is opened
            opened.set_exception(error)
            return
        requests = EngineQueue(engine, running=running)
        crash: ModelCrashed | None = None
        try:
            opened.set_result(engine.context_tokens)
            self._feed(requests, requests.step)
        except ModelCrashed as error:
            crash = error
        finally:
            self._fail_all(requests, crash)
            engine.close()


class EngineQueue:
    """Feeds one engine, at most `running` requests at once, first come first served. Not thread-safe.

    The others wait here, so that a reply's time begins when the model does, and a thousand waiting requests cost next
    to nothing. Every token is read along with a guide of our own: a reply ends with its last brace instead of one more
    step, and what the engine's mask lets through by mistake is an error.
    """

    def __init__(self, engine: VllmEngine, *, running: int) -> None:
        self._engine = engine
        self._running = running
        self._waiting: deque[Task] = deque()
        self._inside: dict[str, Task] = {}
        self._numbers = itertools.count()

    @property
    def idle(self) -> bool:
        """Say whether there is nothing to do."""
        return not self._waiting and not self._inside

    def submit(self, task: Task) -> None:
        """Put a request at the end of the queue."""
        self._waiting.append(task)

    def step(self) -> None:
        """Drop what is no longer wanted, fill up the engine and run it once. Raises ModelCrashed as the engine does."""
        self._drop_unwanted(time.perf_counter())
        self._fill()
        if not self._inside:
            return
        for written in self._engine.step():
            task = self._inside.get(written.id)
            if task is not None:
                self._read(task, written)

    def fail_all(self, error: ModelError) -> None:
        """Settle every request with an error."""
        tasks = [*self._inside.values(), *self._waiting]
        self._inside.clear()
        self._waiting.clear()
        for task in tasks:
            task.deliver(task, error)

    def _drop_unwanted(self, now: float) -> None:
        self._waiting = deque(task for task in self._waiting if not task.cancelled)
        cancelled = [id for id, task in self._inside.items() if task.cancelled]
        for id in cancelled:
            del self._inside[id]
        if cancelled:
            self._engine.abort(cancelled)
        for id, task in list(self._inside.items()):
            if task.is_late(now):
                self._settle(id, TimedOut(seconds=task.timeout_seconds or 0), in_engine=True)

    def _fill(self) -> None:
        while self._waiting and len(self._inside) < self._running:
            task = self._waiting.popleft()
            id = f"redwell-{next(self._numbers)}"
            task.started = time.perf_counter()
            self._inside[id] = task
            try:
                self._engine.add(id, task)
            except ModelError as error:
                self._settle(id, error, in_engine=False)

    def _read(self, task: Task, written: Written) -> None:
        """Take in what a step wrote of one reply, and settle it if that was the end."""
        task.reused = max(task.reused, written.reused_tokens)
        in_engine = not written.ending
        try:
            is_complete = self._accept(task, written)
        except InvalidSchema as error:
            self._settle(written.id, error, in_engine=in_engine)
            return
        # One more than the limit only where it is the token that ends a reply.
        if is_complete and (len(task.reply) <= task.sampling.max_tokens or written.ending == "stop"):
            self._settle(written.id, None, in_engine=in_engine)
        elif len(task.reply) > task.sampling.max_tokens or written.ending == "length":
            limit = task.sampling.max_tokens
            del task.reply[limit:]
            self._settle(
                written.id, OutOfTokens(f"the reply was not complete after {limit} tokens"), in_engine=in_engine
            )
        elif written.ending:
            self._settle(written.id, _ended_early(written.ending), in_engine=False)

    def _accept(self, task: Task, written: Written) -> bool:
        """Read the tokens along with the guide; say whether the value is complete. Raises InvalidSchema."""
        for number, token in enumerate(written.tokens):
            if task.guide.finished:
                return True
            task.guide.accept(token)
            if task.keep_steps and number < len(written.odds):
                tokens, odds = written.odds[number]
                task.steps.append(Step(len(task.reply), tokens, odds))
            task.reply.append(token)
        return task.guide.finished

    def _settle(self, id: str, error: ModelError | None, *, in_engine: bool) -> None:
        task = self._inside.pop(id)
        if in_engine:
            self._engine.abort([id])
        task.deliver(task, error)


def _ended_early(ending: str) -> ModelError:
    if ending == "error":
        return InvalidSchema(
            "the engine could not make a token mask of this schema", advice="Simplify the output schema."
        )
    return ModelCrashed(f"the engine ended a reply before it was complete ({ending})", advice="Run the command again.")


def _guides(folder: Path, header: FolderHeader, tokenizer: FolderTokenizer, layout: Layout) -> GuideCompiler:
    if tokenizer.eos_token is None:
        raise BadModelFolder(
            f"{folder} does not say which token ends a reply",
            advice="Its tokenizer_config.json must name the eos_token; use the folder as published.",
        )
    size = max(header.vocabulary_size, tokenizer.size)
    try:
        return GuideCompiler.from_tokenizer_json(
            tokenizer.json_text, vocabulary_size=size, eos_token=tokenizer.eos_token, layout=layout
        )
    except ValueError as error:
        raise BadModelFolder(f"{folder}: its tokenizer cannot be used: {error}", advice="Use another model.") from error


class FolderTokenizer:
    """Turns text into tokens. Safe to use from several threads."""

    def __init__(self, texts: FolderTexts) -> None:
        """Build both readings of the tokenizer; raises BadModelFolder."""
        plain = {**texts.tokenizer, "padding": None, "truncation": None, "post_processor": None}
        self.json_text = json.dumps(plain)
        self._template = _build(plain)
        self._data = _build(_for_data(plain))
        self._data.encode_special_tokens = True
        self._control = {t["id"] for t in texts.tokenizer["added_tokens"] if not _is_space(t)}
        self.eos_token: int | None = self._template.token_to_id(texts.eos) if texts.eos else None

    @property
    def size(self) -> int:
        """Count the tokens, added ones included."""
        return int(self._template.get_vocab_size(with_added_tokens=True))

    def encode(self, text: str, *, special: bool) -> list[int]:
        """Turn text into tokens; control tokens are read from the text only if `special`."""
        # A lone surrogate has no UTF-8: it becomes "?", as it does in llama.cpp's reading.
        safe = text.encode("utf-8", errors="replace").decode()
        if special:
            return _ids(self._template, safe)
        tokens = _ids(self._data, safe)
        if not self._control.isdisjoint(tokens):  # a vocabulary that spells them out: letter by letter it cannot
            tokens = [token for letter in safe for token in _ids(self._data, letter)]
        return tokens


def _ids(tokenizer: Tokenizer, text: str) -> list[int]:
    tokens: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
    return tokens


def _is_space(token: Mapping[str, Any]) -> bool:
    return not token.get("special") and not token["content"].strip()


def _build(description: Mapping[str, Any]) -> Tokenizer:
    try:
        return Tokenizer.from_str(json.dumps(description))
    except Exception as error:  # noqa: BLE001 - the library raises Exception itself
        raise BadModelFolder(
            f"the tokenizer cannot be read ({type(error).__name__}: {error})",
            advice="Use a folder with a tokenizer.json, as published.",
        ) from error


def _for_data(tokenizer: Mapping[str, Any]) -> dict[str, Any]:
    """Describe the reading of data: no control tokens, and no space put before a text that does not begin with one."""
    return {
        **tokenizer,
        # Left out, they would change the numbers of the others; marked as special, they are passed over.
        "added_tokens": [{**token, "special": not _is_space(token)} for token in tokenizer["added_tokens"]],
        "normalizer": _without_prefix(tokenizer.get("normalizer")),
        "pre_tokenizer": _without_prefix(tokenizer.get("pre_tokenizer")),
    }


def _without_prefix(step: Any) -> Any:
    """Take from a normalizer or pre-tokenizer what puts a space before each text."""
    if not isinstance(step, dict):
        return step
    changed = dict(step)
    for key in ("normalizers", "pretokenizers"):
        if isinstance(step.get(key), list):
            changed[key] = [s for s in map(_without_prefix, step[key]) if s is not None]
    if step.get("type") == "Prepend":
        return None
    if "add_prefix_space" in step:
        changed["add_prefix_space"] = False
    if step.get("type") == "Metaspace":
        changed["prepend_scheme"] = "never"
        changed.pop("add_prefix_space", None)
    return changed
