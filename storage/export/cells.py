r"""Cells as text: JSON values written plainly, characters no file format holds, and formulas made harmless.

Two schemes, applied in this order. Both can be undone, in the other order (`tests/fixtures/written_csv.py`):

1. **Characters.** A control character other than tab, line feed and carriage return, a lone surrogate, U+FFFE and
   U+FFFF become `_xHHHH_` (four hexadecimal digits), as in Office Open XML. Text that looks like such a code already
   gets `_x005F_` in place of its first underscore.
2. **Formulas.** A spreadsheet may run text that begins with `= + - @`, their full-width, small and mathematical forms,
   a tab or a line break, also behind blanks and invisible characters. Such text gets an apostrophe in front. So that
   this can be undone, text that has apostrophes before such a beginning gets one more. The same is done behind every
   `;`, tab and line break within the text, also where quotation marks stand between: a spreadsheet set to another
   separator than the file's would begin a cell there.

Numbers are never text: the number -5 stays `-5`, the text "-5" becomes `'-5`.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final, Literal

from storage.codec import dump_json

Lists = Literal["json", "joined"]

JOINER: Final = "; "

_SIGNS = "=+\\-@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b\u2212\u207a\u207b\u207c"
_BLANKS = (
    " \x0b\x0c\x1c-\x1f\x85\xa0\xad\u1680\u180e\u2000-\u200f"
    "\u2028\u2029\u202a-\u202f\u205f-\u2064\u2066-\u206f\u3000\ufeff"
)
_AT_START = re.compile(f"'*(?:[{_BLANKS}\t\r\n]*[{_SIGNS}]|[{_BLANKS}]*[\t\r\n])")
_INSIDE = re.compile(f"(?<=[;\t\r\n])('*[{_BLANKS}\"]*[{_SIGNS}])")
_BAD = "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]"
# A code is also in the making where a character follows whose own code begins with an underscore.
_UNHOLDABLE = re.compile(f"{_BAD}|_(?=x[0-9A-Fa-f]{{4}}(?:_|{_BAD}))")


def cell_text(value: Any, lists: Lists = "json") -> str:
    """Write a JSON value as plain text: null as nothing, booleans as true and false, never Python's repr.

    Lists are JSON, or with `joined` their items joined by `; ` (items that are lists or objects stay JSON).
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return number_text(value)
    if isinstance(value, list | tuple) and lists == "joined":
        return JOINER.join(
            json_text(item) if isinstance(item, list | tuple | dict) else cell_text(item) for item in value
        )
    return json_text(value)


def number_text(number: float) -> str:
    """Write a number so that it reads back the same; NaN and the infinities as NaN, Infinity, -Infinity."""
    return json.dumps(number)


def json_text(value: Any) -> str:
    """Write JSON on one line with a space behind commas and colons, for people to read."""
    return dump_json(plain_json(value), spaced=True)


def plain_json(value: Any) -> Any:
    """Replace NaN and the infinities, which JSON lacks, by the texts NaN, Infinity, -Infinity."""
    if isinstance(value, float) and not math.isfinite(value):
        return number_text(value)
    if isinstance(value, dict):
        return {key: plain_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(item) for item in value]
    return value


def is_number(value: Any) -> bool:
    """Say whether a value is a finite number, which a spreadsheet may take as one."""
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return is_whole or (isinstance(value, float) and math.isfinite(value))


def escape_characters(text: str) -> str:
    """Replace characters that XML and CSV readers refuse by `_xHHHH_` (scheme 1 above)."""
    return _UNHOLDABLE.sub(lambda match: f"_x{ord(match[0]):04X}_", text)


def safe_text(text: str) -> str:
    """Apply both schemes to a text, so that a spreadsheet does not run it as a formula."""
    text = _INSIDE.sub(r"'\1", escape_characters(text))
    return f"'{text}" if _AT_START.match(text) else text
