"""Errors of the model room. Each says what failed, on what, and what to do.

ModelError
├── PromptTooLong      the prompt does not fit the context
├── OutOfTokens        the reply reached its token limit before it was complete
├── TimedOut           the reply took longer than the request allows
├── InvalidSchema      the schema cannot be compiled to a token mask
├── ModelCrashed       the runtime failed while this request was in flight
├── ModelMissing       the weights are not installed (environment)
├── InstallStopped     an installation or a measurement was given up by the user; what was downloaded is kept
├── AddressRefused     a server that is not on this machine, without the user's permission (environment)
├── NetworkRefused     this process was started without the network (environment)
├── NotEnoughMemory    the model needs more memory than is free (environment)
├── RuntimeMissing     the inference library is not installed or does not work on this CPU (environment)
└── WeightsCorrupt     a file's SHA-256 is not the pinned one (environment)
"""

from __future__ import annotations

from typing import Any, ClassVar


class ModelError(Exception):
    """Base of everything that goes wrong around a model."""

    is_environment: ClassVar[bool] = False

    def __init__(self, message: str, *, advice: str = "") -> None:
        super().__init__(message)
        self.advice = advice

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel between processes with type and fields, whatever the constructor takes."""
        return _remake, (type(self), self.args, self.__dict__)


def _remake(kind: type[ModelError], arguments: tuple[Any, ...], fields: dict[str, Any]) -> ModelError:
    error = kind.__new__(kind)
    error.args = arguments
    error.__dict__.update(fields)
    return error


class PromptTooLong(ModelError):
    """The prompt and the room kept for the reply exceed the context."""

    def __init__(self, *, prompt_tokens: int, reply_tokens: int, context_tokens: int) -> None:
        self.prompt_tokens = prompt_tokens
        self.reply_tokens = reply_tokens
        self.context_tokens = context_tokens
        super().__init__(
            f"the prompt has {prompt_tokens} tokens and keeps {reply_tokens} for the reply, "
            f"but the model's context is {context_tokens} tokens",
            advice="Split the text (split + gather), fold it (reduce with fold_prompt), or declare what to do with it "
            "(too_long: split, middle_out, head or head_tail). A lower max_tokens leaves more room, too.",
        )


class OutOfTokens(ModelError):
    """The reply was cut by its token limit, or as it went round in circles; `partial` is what was written.

    `tries` counts the replies that were begun. `is_final`: the same request would end so again. The tokens and seconds
    are those of models.protocol.Reply, 0 where they are not known.
    """

    def __init__(
        self, message: str, *, partial: str = "", advice: str = "", tries: int = 1, is_final: bool = False
    ) -> None:
        super().__init__(message, advice=advice or "Raise max_tokens for this operator, or ask for less per call.")
        self.partial = partial
        self.tries = tries
        self.is_final = is_final
        self.prompt_tokens = self.reused_tokens = self.sampled_tokens = self.forced_tokens = 0
        self.seconds = 0.0


class TimedOut(ModelError):
    """The model began and did not finish in time; `partial` is what was written."""

    def __init__(self, *, seconds: float) -> None:
        super().__init__(
            f"the reply was not complete after {seconds:g} seconds",
            advice="Raise timeout_seconds for this operator, or ask for less per call.",
        )
        self.partial = ""


class InvalidSchema(ModelError):
    """The JSON Schema cannot be turned into a token mask."""


class ModelCrashed(ModelError):
    """The inference runtime failed."""


class ModelMissing(ModelError):
    """The weights are not on this machine."""

    is_environment = True


class InstallStopped(ModelError):
    """The user gave up an installation, which goes on where it stopped when it is begun again, or a measurement."""


class AddressRefused(ModelError):
    """Text would leave this machine, and the user has not allowed it."""

    is_environment = True


class NetworkRefused(ModelError):
    """The kernel refuses the network to this process, as it was asked to when the process started."""

    is_environment = True


class NotEnoughMemory(ModelError):
    """The model does not fit in the memory that is free; nothing was loaded, or loading was given up."""

    is_environment = True


class RuntimeMissing(ModelError):
    """The inference library is missing or does not run on this CPU."""

    is_environment = True


class WeightsCorrupt(ModelError):
    """A model file is not the one whose hash is pinned."""

    is_environment = True
