"""Timestamps of manifests (RFC 3161): the request to send, and the token that came back. Nothing is fetched here."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Final

from engine.custody.manifest import token_path
from engine.custody.verify_manifest import imprint_of
from engine.disk import sha256_of
from engine.errors import UsageError
from storage.export.atomic import replacing

_SHA_256: Final = bytes.fromhex("608648016503040201")
"""2.16.840.1.101.3.4.2.1 in DER."""


def request_of(manifest: Path) -> bytes:
    """Make a request for a timestamp of a manifest (section 2.4.1), with a random number and for certificates."""
    digest = bytes.fromhex(sha256_of(manifest))
    imprint = _der(0x30, _der(0x30, _der(0x06, _SHA_256), _der(0x05)), _der(0x04, digest))
    nonce = secrets.token_bytes(8)
    number = b"\x01" + nonce  # a positive number of fixed length
    return _der(0x30, _der(0x02, b"\x01"), imprint, _der(0x02, number), _der(0x01, b"\xff"))


def _der(tag: int, *parts: bytes) -> bytes:
    """Write one element; the contents here are shorter than 128 bytes."""
    content = b"".join(parts)
    if len(content) > 127:
        raise ValueError("a longer element needs a longer length")
    return bytes([tag, len(content)]) + content


def attach_token(manifest: Path, token: Path) -> tuple[Path, str]:
    """Put a token beside a manifest, if it is about it; return its path there and the time that it says.

    Raises UsageError for a file that is no token, or is about another file. Who signed it is not checked.
    """
    try:
        content = token.read_bytes()
        digest, time = imprint_of(content)
    except (OSError, ValueError, IndexError) as error:
        raise UsageError(
            f"{token} is no timestamp that can be read: {error}", advice="Name the reply of the authority, a .tsr."
        ) from error
    if digest.hex() != sha256_of(manifest):
        raise UsageError(f"{token} is about another file than {manifest}", advice="Ask again with --request.")
    path = token_path(manifest)
    with replacing(path) as part:
        part.write_bytes(content)
    return path, time
