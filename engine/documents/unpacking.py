"""How much may be taken out of one file of the user's, over all that is nested in it: bytes and files.

A ZIP of 236 kB can hold ZIPs that unpack to many gigabytes, each within the limits of one ZIP. So all of them draw from
one budget, that of the file which the user gave.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.documents.options import ALWAYS_ALLOWED, ParseOptions
from engine.errors import DocumentError

TOO_LARGE = "too_large"
"""The reason of a DocumentError for what unpacks to more than it may."""

_ADVICE = "Unpack it yourself and add the folder."


@dataclass(frozen=True, slots=True)
class Share:
    """What one file may take out at most: bytes, and files."""

    bytes: int
    files: int

    @classmethod
    def of(cls, size: int, options: ParseOptions) -> Share:
        """Return what may be taken out of a file of so many bytes, which lies in no other."""
        most = max(ALWAYS_ALLOWED, round(size * options.max_compression_ratio))
        return cls(min(options.max_unpacked_bytes, most), options.max_members)


def too_much(what: str, share: Share) -> DocumentError:
    """Make the error for a file that would take out more than its share; `what` says what it would take."""
    return DocumentError(
        f"{what}; of what may be taken out of one file, {share.bytes} bytes and {share.files} files are left",
        reason=TOO_LARGE,
        advice=_ADVICE,
    )
