"""Keys that users make to sign manifests: Ed25519 (RFC 8032), the secret kept in a file, under a passphrase if wanted.

The arithmetic is that of the verification that others read (verify_manifest). It is not constant in time: whoever can
time this process while it signs might learn of the key. It signs one manifest of the user's own at a time, on the
user's own machine, for nobody who asks from outside; keep no key here that signs anything else.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from engine.custody.manifest import signature_path
from engine.custody.verify_manifest import BASE, ORDER, P, Point, times
from engine.errors import UsageError
from storage.export.atomic import replacing
from storage.passphrases import normal

KIND: Final = "redwell signing key 1"
_SCRYPT: Final = {"n": 1 << 15, "r": 8, "p": 1, "maxmem": 1 << 26}


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A key: 32 random bytes, from which all else follows."""

    seed: bytes = field(repr=False)

    @property
    def public(self) -> bytes:
        """Return the public key (section 5.1.5)."""
        return _bytes_of(times(self._scalar, BASE))

    @property
    def _scalar(self) -> int:
        low = int.from_bytes(hashlib.sha512(self.seed).digest()[:32], "little")
        return low & ((1 << 254) - 8) | (1 << 254)

    def sign(self, message: bytes) -> bytes:
        """Sign a message (section 5.1.6)."""
        prefix, public = hashlib.sha512(self.seed).digest()[32:], self.public
        nonce = _number(prefix, message)
        first = _bytes_of(times(nonce, BASE))
        second = (nonce + _number(first, public, message) * self._scalar) % ORDER
        return first + second.to_bytes(32, "little")


def _number(*parts: bytes) -> int:
    return int.from_bytes(hashlib.sha512(b"".join(parts)).digest(), "little") % ORDER


def _bytes_of(point: Point) -> bytes:
    """Write a point (section 5.1.2)."""
    inverse = pow(point[2], P - 2, P)
    x, y = point[0] * inverse % P, point[1] * inverse % P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def new_key(file: Path, passphrase: str) -> SigningKey:
    """Make a key and write it to a new file that only the user can read; raises UsageError where one is there.

    With a passphrase the secret is hidden by scrypt (RFC 7914); empty for none.
    """
    key = SigningKey(secrets.token_bytes(32))
    body: dict[str, Any] = {"kind": KIND, "public_key": key.public.hex()}
    if passphrase:
        salt = secrets.token_bytes(16)
        body |= {"salt": salt.hex(), "hidden": _masked(key.seed, passphrase, salt).hex()}
    else:
        body["secret"] = key.seed.hex()
    is_made = False
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        is_made = True
        with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
            json.dump(body, opened, indent=1)
            opened.write("\n")
    except OSError as error:
        if is_made:
            file.unlink(missing_ok=True)  # half a key is none
        raise UsageError(
            f"the key cannot be written to {file}: {error.strerror}", advice="Name a new file in a folder of yours."
        ) from error
    return key


def is_hidden(file: Path) -> bool:
    """Say whether a key needs its passphrase; raises UsageError for a file that holds none."""
    return "hidden" in _read(file)


def read_key(file: Path, passphrase: str = "") -> SigningKey:
    """Read a key; raises UsageError for a file that holds none, and for another passphrase than its own."""
    body = _read(file)
    try:
        hidden = bytes.fromhex(body.get("hidden", ""))
        seed = _masked(hidden, passphrase, bytes.fromhex(body["salt"])) if hidden else bytes.fromhex(body["secret"])
    except (KeyError, TypeError, ValueError) as error:
        raise _no_key(file) from error
    key = SigningKey(seed)
    if len(seed) != 32 or key.public.hex() != body.get("public_key"):
        if hidden:
            raise UsageError(f"the passphrase does not open the key {file}", advice="Nobody can recover it.")
        raise _no_key(file)
    return key


def _masked(data: bytes, passphrase: str, salt: bytes) -> bytes:
    """Hide 32 bytes, or show them again: they are added to as many that scrypt makes of passphrase and salt."""
    mask = hashlib.scrypt(normal(passphrase).encode(), salt=salt, dklen=32, **_SCRYPT)
    return bytes(a ^ b for a, b in zip(data, mask, strict=True))


def _read(file: Path) -> dict[str, Any]:
    try:
        body = json.loads(file.read_bytes())
    except OSError as error:
        raise UsageError(f"the key {file} cannot be read: {error.strerror}", advice="Check the path.") from error
    except ValueError as error:
        raise _no_key(file) from error
    if not isinstance(body, dict) or body.get("kind") != KIND:
        raise _no_key(file)
    return body


def _no_key(file: Path) -> UsageError:
    return UsageError(f"{file} is no signing key of Redwell", advice="Make one: `redwell custody key new FILE`.")


def sign_manifest(manifest: Path, key: SigningKey) -> Path:
    """Write the signature of a manifest beside it, over the bytes of the file; return its path."""
    signature = key.sign(manifest.read_bytes()).hex()
    body = {"algorithm": "Ed25519", "of": manifest.name, "public_key": key.public.hex(), "signature": signature}
    path = signature_path(manifest)
    with replacing(path) as part:
        part.write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")
    return path
