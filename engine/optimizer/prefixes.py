"""What a plan reads of its prompts where what they begin with alike is read once, whatever was read before it.

Models keep what they have read for prompts that begin alike, of other plans too: the first plan that a build tries
seems to read the documents, those behind it seem not to. So what a plan reads is counted from its prompts. They are cut
into blocks, each known by all that stands before its end (as in vLLM's automatic prefix caching), and each block counts
once.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b

from models.protocol import Request

BLOCK = 64
"""Characters of a block, about 16 tokens: of each prompt, half a block on average is counted though it was read."""

DIGEST_BYTES = 8

Blocks = Mapping[str, float]
"""The tokens of each block of some prompts, by its digest."""


def blocks_of(request: Request, tokens: int) -> dict[str, float]:
    """Cut a prompt of so many tokens into blocks; tokens are taken to be spread evenly over the characters."""
    text = "".join(f"\0{segment.role}\0{segment.text}" for segment in request.segments)
    digest, blocks = blake2b(digest_size=DIGEST_BYTES), {}
    for start in range(0, len(text), BLOCK):
        block = text[start : start + BLOCK]
        digest.update(block.encode("utf-8", "surrogatepass"))
        blocks[digest.hexdigest()] = tokens * len(block) / len(text)
    return blocks
