"""Cut the longest texts of a prompt that does not fit, where the pipeline says so (`too_long`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal

from engine.operators.asking.model_node import ModelNode
from engine.operators.asking.question import Question, fits, prompt_tokens, reply_room
from engine.operators.base import Tools

Cut = Literal["head", "middle_out", "head_tail"]

HEAD_SHARE: Mapping[Cut, float] = {"head": 1.0, "middle_out": 0.5, "head_tail": 0.75}
"""How much of what is kept is the beginning; the rest is the end."""

NEXT_TRY = 0.93
"""Tokens of the parts need not add up to those of the whole: what does not fit yet is cut by so much more."""


def fitted(node: ModelNode, question: Question, tools: Tools) -> Question:
    """Return the question with its longest texts cut so that prompt and reply fit, and note it in the ledger.

    Only the fields that the prompt shows unchanged can be cut. Where that does not help, the question is returned as
    it is, so that the model's own error names the remedies. Only what the model sees may be quoted.
    """
    if node.too_long in ("error", "split") or fits(node, question, tools):
        return question
    how: Cut = node.too_long  # type: ignore[assignment]
    texts = shown_texts(question)
    keep = _characters(node, question, texts, tools)
    while keep >= 1:
        shown = {field: cut(text, keep, how) for field, text in texts.items() if len(text) > keep}
        shorter = asked_about(node, question, shown)
        if shorter is None:
            return question
        if spare_tokens(node, shorter, {}, tools) >= 0:
            kept = ", ".join(f"{field}: {len(shown[field])} of {len(texts[field])} characters shown" for field in shown)
            tools.record.note(question.row_id, "cut", f"too_long: {how}", kept)
            return shorter
        keep = int(keep * NEXT_TRY)
    return question


def shown_texts(question: Question) -> dict[str, str]:
    """Return the texts that are in the prompt as they are, by field: those of the row, or of all rows it is about.

    A question that can be asked about other texts (Question.about) names the fields of one row; of any other, the
    texts inside lists and dictionaries are found too, and each is named by where it stands: `left.text`.
    """
    own: Iterable[tuple[str, Any]] = question.values.items()
    shown: dict[str, str] = {}
    for field, text in texts_within(question.values) if question.about is None else own:
        if isinstance(text, str) and text.strip() and text in question.prompt and text not in shown.values():
            shown[field] = text
    return shown


def texts_within(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Give the texts inside a value, each with where it stands."""
    match value:
        case str():
            yield path, value
        case Mapping():
            for key, item in value.items():
                yield from texts_within(item, f"{path}.{key}" if path else f"{key}")
        case list() | tuple():
            for number, item in enumerate(value, 1):
                yield from texts_within(item, f"{path}[{number}]")


def cut(text: str, keep: int, how: Cut) -> str:
    """Keep about `keep` characters, whole words, and say how many were left out."""
    if len(text) <= keep:
        return text
    head = text[: _word_end(text, round(keep * HEAD_SHARE[how]))]
    tail = text[_word_start(text, len(text) - (keep - round(keep * HEAD_SHARE[how]))) :]
    left_out = len(text) - len(head) - len(tail)
    return "\n".join(
        part for part in (head.rstrip(), f"[... {left_out} characters skipped ...]", tail.lstrip()) if part
    )


def asked_about(node: ModelNode, question: Question, shown: Mapping[str, str]) -> Question | None:
    """Ask the same with other texts in some fields; None where quotes could then come from what is not shown."""
    if question.about is not None:
        return replace(
            question.about(shown),
            values=question.values,
            probabilities=question.probabilities,
            task=question.task,
            sample=question.sample,
            model=question.model,
        )
    if node.schema is not None and node.schema.has_quotes:
        return None
    prompt = question.prompt
    texts = shown_texts(question)
    for field, text in sorted(shown.items(), key=lambda entry: -len(texts[entry[0]])):
        prompt = prompt.replace(texts[field], text)
    return replace(question, prompt=prompt, texts=[*question.texts, *shown.values()])


def spare_tokens(node: ModelNode, question: Question, texts: Mapping[str, str], tools: Tools) -> int:
    """Say how many tokens the given texts of a prompt may have together, each counted as often as it stands there."""
    theirs = sum(tools.count_tokens(text) * question.prompt.count(text) for text in texts.values())
    rest = prompt_tokens(node, question, tools) - theirs
    return tools.context_tokens - rest - reply_room(node, tools) - _turns_room(node, tools)


def _turns_room(node: ModelNode, tools: Tools) -> int:
    """Keep room for a judge or a retry, who see the first answer too."""
    turns = bool(node.validate) or node.gleaning is not None
    return min(reply_room(node, tools), tools.context_tokens // 8) if turns else 0


def _characters(node: ModelNode, question: Question, texts: Mapping[str, str], tools: Tools) -> int:
    """Find to how many characters the longest texts must be cut, as if all tokens were equally long."""
    if not texts:
        return 0
    tokens = {field: max(tools.count_tokens(text), 1) for field, text in texts.items()}
    spare = spare_tokens(node, question, texts, tools)
    left = sum(question.prompt.count(text) for text in texts.values())
    level = 0.0
    for field in sorted(texts, key=lambda field: tokens[field]):
        level = spare / left  # what each of the texts left may have, if all have as many
        if tokens[field] > level:
            break
        times = question.prompt.count(texts[field])
        spare -= tokens[field] * times
        left -= times
        if not left:
            break
    longest = max(texts, key=lambda field: tokens[field])
    return max(0, int(level * len(texts[longest]) / tokens[longest]))


def _word_end(text: str, index: int) -> int:
    """Move an offset back behind the last word that is whole; a single long word is cut."""
    if index >= len(text) or index <= 0:
        return max(0, min(index, len(text)))
    space = max(text.rfind(" ", 0, index + 1), text.rfind("\n", 0, index + 1))
    return space if space > 0 else index


def _word_start(text: str, index: int) -> int:
    if index <= 0 or index >= len(text):
        return max(0, min(index, len(text)))
    spaces = [at for at in (text.find(" ", index - 1), text.find("\n", index - 1)) if at >= 0]
    return min(spaces) + 1 if spaces else index
