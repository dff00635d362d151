"""A model behind an OpenAI-compatible server: what the engine asks, over HTTP (models.protocol.ModelBackend)."""

from __future__ import annotations

import asyncio
import os
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from models.addresses import is_loopback
from models.errors import ModelCrashed, ModelError, OutOfTokens, PromptTooLong, TimedOut
from models.fits import schema_of
from models.layouts import DEFAULT_LAYOUT, layout_named
from models.notices import Caution, Notices, Tell
from models.protocol import Reply, Request
from models.replies import explain_end, reply_limit
from models.servers.address import find_targets, read_address
from models.servers.completion import Completion, SchemaRefused, read_completion
from models.servers.facts import ServerFacts, look_at
from models.servers.http import Http, ServerBusy, ServerGone, printable
from models.servers.modes import (
    MEANINGS,
    MODES,
    NOTHING_READ,
    Read,
    SchemaMode,
    probe,
    read_reply,
    schema_fields,
    weaker,
    with_repair,
    with_schema,
)
from models.servers.tokens import Message, TokenCounter, messages_of, most_tokens
from models.wrapped import KeptCounts

KEY_VARIABLE = "REDWELL_SERVER_KEY"
DEFAULT_CONTEXT = 4096
"""Assumed where neither the server nor the user says; Ollama's and LM Studio's own default."""
DEFAULT_REQUESTS = 8
VLLM_REQUESTS = 64
REPAIRS = 2
"""How often a reply that does not fit is shown to the model again."""
RETRY_PAUSES = (0.0, 0.5, 2.0)
"""Seconds before a request is sent again to a server that broke off or was restarted."""
LONGEST_PAUSE = 30.0
"""A server that is busy is asked again after the seconds it names, else after 1, 2, 4 and so on, and never more."""
BUSY_SECONDS = 120.0
"""So long in all a request waits for a server that is busy."""
LONGEST_SECONDS = 3600.0
"""A server that has said nothing for so long is given up, where the request has no limit of its own."""
REFUSED_SCHEMAS = 1024

_CONTROL = re.compile(r"<\|[A-Za-z0-9_]{2,30}\|>|<(start|end)_of_turn>|\[/?INST\]")


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """How a server is used. None: as it says itself, else the defaults above; `schema_mode` None: tried out."""

    requests: int | None = None
    context_tokens: int | None = None
    schema_mode: SchemaMode | None = None
    allowed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Take lists as JSON has them; raise ModelError for a mode there is not."""
        object.__setattr__(self, "allowed", tuple(self.allowed))
        if self.schema_mode not in (None, *MODES):
            raise ModelError(f"there is no schema mode {self.schema_mode!r}", advice=f"There are: {', '.join(MODES)}.")


@dataclass
class _Talk:
    """What is said about one request: how the schema is sent now, the messages, the replies so far.

    `limit` are the tokens that the reply now asked for may have.
    """

    mode: SchemaMode
    messages: list[Message]
    spent: list[Completion] = field(default_factory=list)
    read: Read = NOTHING_READ
    limit: int = 0


class _Waits:
    """How long one request waits for a server that is busy."""

    def __init__(self) -> None:
        self._count = 0
        self._seconds = 0.0

    def next(self, asked: float | None) -> float | None:
        """Return the seconds to wait now, where the server asks for `asked`; None when it was long enough."""
        pause = min(asked or 2.0**self._count, LONGEST_PAUSE)
        self._count += 1
        self._seconds += pause
        return pause if self._seconds <= BUSY_SECONDS else None


def look_at_server(location: str, allowed: Collection[str] = ()) -> ServerFacts:
    """Ask a server what it is and what it serves, within seconds; nothing is opened, and no token is sampled.

    Raises ModelError as `look_at`, or AddressRefused.
    """
    http = _connected(location, allowed)
    try:
        return http.wait_for(look_at(http, allowed=tuple(allowed)))
    finally:
        http.close()


def _connected(location: str, allowed: Collection[str]) -> Http:
    address = read_address(location)
    return Http(address, find_targets(address, allowed), key=os.environ.get(KEY_VARIABLE, ""))


class ServerBackend:
    """One model of one server. Asking never leaves the address that was checked when it was opened."""

    def __init__(self, location: str, *, name: str = "", settings: ServerSettings | None = None) -> None:
        """Connect, ask the server what it is, and try how it is held to a schema. Raises ModelError."""
        settings = settings or ServerSettings()
        self._http = _connected(location, settings.allowed)
        address = self._http.address
        try:
            self._facts = self._look(settings)
            self._mode = settings.schema_mode or self._probe()
            if settings.schema_mode is None and self._facts.loads_when_asked:
                self._facts = self._look(settings)
        except BaseException:
            self._http.close()
            raise
        self.name = f"{name or self._facts.title} at {address.place}"
        self.digest = self._facts.digest
        self.layout = ""
        known = [tokens for tokens in (self._facts.context_tokens, settings.context_tokens) if tokens]
        self.context_tokens = min(known, default=DEFAULT_CONTEXT)
        usual = VLLM_REQUESTS if self._facts.kind == "vLLM" else DEFAULT_REQUESTS
        self._free = asyncio.Semaphore(settings.requests or self._facts.slots or usual)
        self._counter = TokenCounter(self._http, self._facts)
        self._counts = KeptCounts()
        self._refused: OrderedDict[str, SchemaMode] = OrderedDict()
        self._is_down = False
        self._closed = False
        self._notices = Notices()
        self._warned: set[str] = set()
        self._warning_lock = threading.Lock()
        self._warn_of_itself(is_context_known=bool(known))

    @property
    def told(self) -> str:
        """Say in a line what serves, what it serves and how it is held to a schema."""
        facts = self._facts
        counted = "counts tokens" if facts.counts else "tokens are estimated"
        model, context = facts.title, f"context {self.context_tokens:,} tokens"
        return f"{facts.kind}, model {model}, {context}, {counted}, schema mode {self._mode}: {MEANINGS[self._mode]}"

    def watch(self, tell: Tell) -> None:
        """Call `tell` with what a user should know (GivesNotice)."""
        self._notices.watch(tell)

    def count_tokens(self, text: str) -> int:
        """Count the tokens of plain text; estimated where the server does not count. Raises ModelCrashed."""
        return self._counts.of_text(text, lambda: self._http.wait_for(self._counter.count(text)))

    def count_prompt_tokens(self, request: Request) -> int:
        """Count the tokens of the whole prompt; estimated where the server does not count. Raises ModelCrashed."""
        messages = self._messages(request, self._mode_for(request))
        return self._http.wait_for(self._counter.count_messages(messages))

    async def ask(self, request: Request) -> Reply:
        """Answer one request (see ModelBackend.ask)."""
        self._check_open()
        submitted = time.perf_counter()
        future = asyncio.wrap_future(self._http.start(self._answer(request, submitted)))
        try:
            return await future
        except asyncio.CancelledError:
            if self._closed and not _is_cancelling():
                raise self._closed_error() from None
            raise

    async def close(self) -> None:
        """Break off what is under way and end the thread. Idempotent."""
        await asyncio.to_thread(self.close_now)

    def close_now(self) -> None:
        """Do what `close` does, where no event loop runs."""
        self._closed = True
        self._http.close()

    # -- in the server's own loop ----------------------------------------------------------------------------------

    async def _answer(self, request: Request, submitted: float) -> Reply:
        async with self._free:
            started = time.perf_counter()
            try:
                async with asyncio.timeout(request.timeout_seconds):
                    reply = await self._fitting_reply(request)
            except TimeoutError as error:
                raise TimedOut(seconds=request.timeout_seconds or LONGEST_SECONDS) from error
            except OutOfTokens as error:
                error.seconds = time.perf_counter() - started
                raise
            return replace(reply, queue_seconds=started - submitted, seconds=time.perf_counter() - started)

    async def _fitting_reply(self, request: Request) -> Reply:
        """Ask until a reply fits the schema, each time showing what was wrong; raises ModelError when none does."""
        schema, mode = schema_of(request), self._mode_for(request)
        talk = _Talk(mode, self._messages(request, mode))
        while True:
            completion = await self._next_completion(request, schema, talk)
            if not talk.spent:
                self._check_uncut(talk.messages, completion)
            talk.spent.append(completion)
            talk.read = read_reply(completion.text, schema)
            if not talk.read.misfits:
                return self._reply(request, schema, talk)
            if completion.is_cut:
                raise self._out_of_tokens(request, talk)
            if len(talk.spent) > REPAIRS:
                raise self._unfit(talk)
            self._prepare_repair(request, talk)

    async def _next_completion(self, request: Request, schema: dict[str, Any], talk: _Talk) -> Completion:
        """Get a reply, the next way where the server refuses to enforce the schema in this one."""
        while True:
            try:
                return await self._complete(request, schema, talk)
            except SchemaRefused as error:
                if talk.mode == "prompt":
                    raise
                if not talk.spent:
                    self._refuse_schema(request, talk.mode, error)
                talk.mode = weaker(talk.mode)
                talk.messages = self._messages(request, talk.mode)
            except PromptTooLong as error:
                if talk.spent:  # the prompt fitted; what was shown of the wrong reply does not
                    raise self._unfit(talk) from error
                raise

    def _prepare_repair(self, request: Request, talk: _Talk) -> None:
        """Show what was wrong; a server that was to enforce the schema and did not is asked the next way."""
        if talk.mode == "json_schema":
            self._warn_once(
                "unfit",
                f"{self._place} sent a reply that does not fit its schema, though it enforces schemas: "
                f"{printable(talk.read.misfits[0])}. Such replies are asked for again, another way.",
            )
            talk.mode = weaker(talk.mode)
            talk.messages = self._messages(request, talk.mode)
        talk.messages = with_repair(talk.messages, talk.spent[-1].text, talk.read.misfits)

    async def _complete(self, request: Request, schema: dict[str, Any], talk: _Talk) -> Completion:
        """Get a completion, asking again where the server breaks off or says that it is busy."""
        pauses = iter(() if self._is_down else RETRY_PAUSES)
        waits = _Waits()
        while True:
            try:
                return await self._exchange(request, schema, talk)
            except ServerBusy as error:
                pause = waits.next(error.retry_after)
                if pause is None:
                    raise
            except ServerGone:
                pause = next(pauses, None)
                if pause is None:
                    self._is_down = True
                    raise
            await asyncio.sleep(pause)

    async def _exchange(self, request: Request, schema: dict[str, Any], talk: _Talk) -> Completion:
        talk.limit = await self._reply_limit(request, talk.messages)
        body = {
            "model": self._facts.model,
            "messages": talk.messages,
            "max_tokens": talk.limit,
            "temperature": request.sampling.temperature,
            "top_p": 1,
            "seed": request.seed & 0x7FFFFFFF,
            "stream": False,
            **schema_fields(talk.mode, schema),
            **self._own_fields(),
            **({"logprobs": True, "top_logprobs": 20} if request.probabilities else {}),
        }
        path = f"{self._http.address.path}/chat/completions"
        answer = await self._http.post(path, body, seconds=LONGEST_SECONDS)
        completion = read_completion(answer, self._http)
        self._is_down = False
        return completion

    async def _reply_limit(self, request: Request, messages: list[Message]) -> int:
        """Bound the reply by the room its prompt leaves; raises PromptTooLong where that is too little."""
        wanted = request.sampling.max_tokens
        if most_tokens(messages) + wanted <= self.context_tokens:
            return wanted
        prompt = await self._counter.count_messages(messages)
        return reply_limit(request, prompt, self.context_tokens)

    def _own_fields(self) -> dict[str, Any]:
        """Return what a server takes beside OpenAI's fields: plain sampling, no thoughts before the answer."""
        fields = self._facts.template_fields
        if self._facts.kind in ("llama-server", "vLLM"):
            fields |= {"top_k": 0, "min_p": 0}
        return {**fields, "cache_prompt": True} if self._facts.kind == "llama-server" else fields

    # -- replies ---------------------------------------------------------------------------------------------------

    def _reply(self, request: Request, schema: dict[str, Any], talk: _Talk) -> Reply:
        spent, read = talk.spent, talk.read
        certainty = spent[-1].certainty(schema, read.text) if request.probabilities else {}
        if request.probabilities and not certainty:
            self._warn_once(
                "probabilities",
                f"{self._place} does not say how likely its choices are: probabilities are empty, and what is decided "
                "by them (margins, votes, calibration) cannot be. A model in Redwell itself, llama-server and vLLM do.",
            )
        return Reply(value=read.value, text=read.text, **_sums(spent), **certainty)

    def _out_of_tokens(self, request: Request, talk: _Talk) -> OutOfTokens:
        last = talk.spent[-1]
        error = OutOfTokens(
            f"the reply of {self.name} was not complete when its tokens ran out (limit {talk.limit}, context "
            f"{self.context_tokens})"
        )
        explain_end(
            error,
            request,
            _sums(talk.spent),
            partial=last.text,
            limit=talk.limit,
            prompt_tokens=last.prompt_tokens or self.context_tokens - talk.limit,
            context_tokens=self.context_tokens,
        )
        return error

    def _unfit(self, talk: _Talk) -> ModelError:
        return ModelError(
            f"{self.name} gave no reply that fits the schema, asked {len(talk.spent)} times: "
            f"{printable('; '.join(talk.read.misfits))}; the last one: {printable(talk.spent[-1].text, 120)!r}",
            advice="Use a larger model, ask for less in one call, or use a server that enforces schemas.",
        )

    def _check_uncut(self, messages: list[Message], completion: Completion) -> None:
        """Notice a server that reads less than it was sent, as some do with what exceeds their context."""
        sent = sum(len(m["content"].encode("utf-8", "replace")) for m in messages)
        if not self._facts.counts and sent > 4000 and 0 < completion.prompt_tokens * 10 < sent:
            raise ModelError(
                f"{self.name} read {completion.prompt_tokens} tokens of a prompt of {sent:,} bytes: it has cut it",
                advice="Give the server a larger context (OLLAMA_CONTEXT_LENGTH; LM Studio: Context Length), and say "
                "how large: `redwell models add ADDRESS --name NAME --context-tokens N`.",
            )

    # -- schemas ---------------------------------------------------------------------------------------------------

    def _look(self, settings: ServerSettings) -> ServerFacts:
        return self._http.wait_for(look_at(self._http, allowed=settings.allowed))

    def _probe(self) -> SchemaMode:
        try:
            return self._http.wait_for(probe(self._http, self._facts))
        except TimeoutError as error:
            raise ModelError(
                f"the server {self._http.address} lists a model but does not answer", advice="See the server's log."
            ) from error

    def _mode_for(self, request: Request) -> SchemaMode:
        return self._refused.get(request.schema_json, self._mode)

    def _refuse_schema(self, request: Request, mode: SchemaMode, error: SchemaRefused) -> None:
        """Remember that the server cannot enforce this schema: the next request with it goes another way at once."""
        self._refused[request.schema_json] = weaker(mode)
        while len(self._refused) > REFUSED_SCHEMAS:
            self._refused.popitem(last=False)
        self._warn_once(
            f"refused {mode}",
            f"{self._place} cannot enforce a schema of this run ({printable(str(error), 200)}); for such schemas "
            f"{MEANINGS[weaker(mode)]}.",
        )

    def _messages(self, request: Request, mode: SchemaMode) -> list[Message]:
        messages = messages_of(layout_named(DEFAULT_LAYOUT).lay_out(request.segments))
        if any(_CONTROL.search(message["content"]) for message in messages):
            self._warn_once(
                "control",
                "a prompt holds text that looks like a chat template's control tokens, and a server may take it for "
                "such: whoever wrote that document could steer the reply. A model in Redwell itself is not open to it.",
            )
        return messages if mode == "json_schema" else with_schema(messages, request.schema_json)

    # -- warnings, counts, the end ---------------------------------------------------------------------------------

    @property
    def _place(self) -> str:
        return f"the server at {self._http.address.place}"

    def _warn_of_itself(self, *, is_context_known: bool) -> None:
        address, facts = self._http.address, self._facts
        if not is_loopback(address.host):
            self._warn_once(
                "place", f"text of this run is sent to {address.place}, which is not this machine (allowed)"
            )
        self._warn_once(
            "mode",
            f"replies come from {facts.kind} at {address.place}, model {facts.title}: "
            f"{MEANINGS[self._mode]}. Its weights cannot be verified as a file's can.",
        )
        if not is_context_known:
            self._warn_once(
                "context", f"{self._place} does not say how large its context is: {DEFAULT_CONTEXT} tokens are assumed"
            )
        if not facts.counts:
            self._warn_once("tokens", f"{self._place} does not count tokens: they are estimated, on the safe side")

    def _warn_once(self, topic: str, message: str) -> None:
        with self._warning_lock:
            if topic in self._warned:
                return
            self._warned.add(topic)
        self._notices.tell(Caution(message))

    def _check_open(self) -> None:
        if self._closed:
            raise self._closed_error()

    def _closed_error(self) -> ModelCrashed:
        return ModelCrashed(
            f"the connection to {self.name} is closed", advice="Run the command again: replies are kept."
        )


def _sums(spent: Sequence[Completion]) -> dict[str, Any]:
    """Add up the tokens of all replies to one request: fields of Reply."""
    return {
        "prompt_tokens": sum(c.prompt_tokens for c in spent),
        "reused_tokens": sum(c.cached_tokens for c in spent),
        "sampled_tokens": sum(c.sampled_tokens for c in spent),
    }


def _is_cancelling() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
