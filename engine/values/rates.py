"""Rates of exchange and conversion that a user gives, each with its date and source. No other is ever used."""

from __future__ import annotations

import csv
import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from engine.errors import UsageError

COLUMNS = ("from", "to", "rate", "date", "source")


class NoRate(LookupError):
    """The table holds no rate between two units."""


@dataclass(frozen=True, kw_only=True)
class Rate:
    """One unit of `base` is `rate` units of `to`, as of `date` (ISO), by what `source` says.

    Currencies are ISO 4217 codes; other units are any names, written alike everywhere.
    """

    base: str = field(metadata={"yaml": "from"})
    to: str
    rate: float
    date: str
    source: str

    def __post_init__(self) -> None:
        if not (self.base and self.to and self.source):
            raise ValueError("a rate needs from, to and source: who says so")
        if not 0 < self.rate < math.inf:
            raise ValueError(f"the rate from {self.base} to {self.to} is a number above 0, not {self.rate}")
        try:
            datetime.date.fromisoformat(self.date)
        except ValueError as error:
            raise ValueError(f"the date of a rate is YYYY-MM-DD, not {self.date!r}") from error


@dataclass(frozen=True, slots=True)
class UsedRate:
    """A rate that was used, `factor` times the amount. `inverse`: the table has the other direction."""

    rate: Rate
    factor: Decimal
    inverse: bool

    def to_json(self) -> dict[str, Any]:
        """Return what is kept beside the result."""
        rate = self.rate
        said = {"from": rate.base, "to": rate.to, "rate": rate.rate, "date": rate.date, "source": rate.source}
        return {**said, "inverse": self.inverse}


def find_rate(rates: Sequence[Rate], base: str, to: str, on: str = "") -> UsedRate:
    """Find the rate from one unit to another: the last one up to the day `on` (ISO), or the last of all.

    The other direction is used where only that is there; no two rates are chained. Raises NoRate.
    """
    if base == to:
        same = Rate(base=base, to=to, rate=1, date=on or "0001-01-01", source="the same unit")
        return UsedRate(same, Decimal(1), inverse=False)
    for inverse, pair in ((False, (base, to)), (True, (to, base))):
        candidates = [rate for rate in rates if (rate.base, rate.to) == pair and (not on or rate.date <= on)]
        if candidates:
            rate = max(candidates, key=lambda each: each.date)
            number = Decimal(str(rate.rate))
            return UsedRate(rate, 1 / number if inverse else number, inverse)
    pairs = sorted({f"{rate.base} to {rate.to}" for rate in rates})
    until = f" up to {on}" if on else ""
    raise NoRate(f"there is no rate from {base} to {to}{until}; the table has {', '.join(pairs) or 'none'}")


def read_rates(path: Path) -> list[dict[str, Any]]:
    """Read a table of rates from CSV with the columns from, to, rate, date and source, as `rates` of compute has them.

    Raises UsageError with the line of what is wrong.
    """
    if path.exists() and not path.is_file():
        raise UsageError(f"cannot read the rates in {path}: it is no regular file", advice="Check the path.")
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            missing = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
            if missing:
                raise UsageError(
                    f"{path} has no column {', '.join(missing)}", advice=f"Its columns are {', '.join(COLUMNS)}."
                )
            return [_entry(row, path, reader.line_num) for row in reader]
    except OSError as error:
        raise UsageError(f"cannot read the rates in {path}: {error.strerror}", advice="Check the path.") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text", advice="Save it as UTF-8.") from error


def _entry(row: Mapping[str, str | None], path: Path, line: int) -> dict[str, Any]:
    entry: dict[str, Any] = {name: (row.get(name) or "").strip() for name in COLUMNS}
    try:
        entry["rate"] = float(Decimal(entry["rate"]))
        Rate(base=entry["from"], **{name: entry[name] for name in COLUMNS if name != "from"})
    except (InvalidOperation, ValueError) as error:
        reason = error if isinstance(error, ValueError) else f"{entry['rate']!r} is no number"
        raise UsageError(f"{path}, line {line}: {reason}", advice="Correct the line.") from error
    return entry
