"""Write the tables of README.md from results.json: `python tests/bench/report.py results.json`."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

Result = Mapping[str, Any]

COLUMNS = (
    "job",
    "contestant",
    "seconds",
    "calls",
    "read",
    "reused",
    "sampled",
    "forced",
    "peak",
    "quality",
    "floor",
    "x floor",
    "ours is faster",
)


def main(arguments: list[str]) -> int:
    """Print the tables of a results file."""
    print(tables(json.loads(Path(arguments[0]).read_text(encoding="utf-8"))))
    return 0


def tables(body: Mapping[str, Any]) -> str:
    """Write all tables as Markdown."""
    results: Sequence[Result] = body["results"]
    machine = body["machine"]
    drawn = [r for r in results if r["documents"] == r["prompts"] == 1]
    plain = [r for r in drawn if not r.get("draw", 0)]
    grown = [r for r in results if r["job"] == "B" and r["contestant"] == "ours" and not r.get("draw", 0)]
    parts = [
        f"{body['began'][:10]}, {machine['cpu']}, {machine['cores']} cores, model {body['settings']['model']}.",
        _table(COLUMNS, [_cells(r, plain) for r in _best(plain)]),
    ]
    if len(drawn) > len(plain):
        parts.append(_quality(drawn))
    if len(grown) > len([r for r in plain if r["job"] == "B" and r["contestant"] == "ours"]):
        parts.append(_growth(grown))
    return "\n\n".join(["", *parts, ""])


def line_of(result: Result) -> str:
    """Say in one line what came of one contestant."""
    name = f"{result['job']} {result['contestant']}"
    size = "".join(f" {k} x{result[k]}" for k in ("documents", "prompts") if result[k] != 1)
    size += f" draw {draw}" if (draw := result.get("draw", 0)) else ""
    if "error" in result:
        return f"{name}{size}: {result['error']}"
    floor = f", {result['floor_ratio']:.2f} x floor" if "floor_ratio" in result else ""
    return f"{name}{size}: {result['seconds']:.1f} s{floor}, quality {result['quality']['quality']:.3f}"


def _best(results: Sequence[Result]) -> list[Result]:
    """Keep the fastest repeat of each contestant of each job; one that failed always only if none did not."""
    best: dict[tuple[str, str], Result] = {}
    for result in results:
        key = (result["job"], result["contestant"])
        if key not in best or _seconds(result) < _seconds(best[key]):
            best[key] = result
    return list(best.values())


def _quality(results: Sequence[Result]) -> str:
    """Show the mean quality over all draws, the least and the most, and of each its precision and recall."""
    rows = []
    for job, contestant in dict.fromkeys((r["job"], r["contestant"]) for r in results):
        measures = {
            r.get("draw", 0): r["quality"]
            for r in results
            if (r["job"], r["contestant"]) == (job, contestant) and "error" not in r
        }
        each = [measures[draw]["quality"] for draw in sorted(measures)]
        told = [f"{fmean(each):.3f}", f"{min(each):.3f} to {max(each):.3f}"] if each else ["", ""]
        rows.append([job, contestant, str(len(each)), *told, "; ".join(_parts(measures[d]) for d in sorted(measures))])
    return _table(("job", "contestant", "draws", "mean quality", "of one draw", "each: quality (P / R)"), rows)


def _parts(measure: Mapping[str, float]) -> str:
    """Write one draw's quality, with precision and recall where the job has them."""
    both = [f"{measure[name]:.2f}" for name in ("precision", "recall") if name in measure]
    return f"{measure['quality']:.2f}" + (f" ({' / '.join(both)})" if both else "")


def _seconds(result: Result) -> float:
    return float(result.get("seconds", float("inf")))


def _cells(result: Result, results: Sequence[Result]) -> list[str]:
    start = [result["job"], result["contestant"]]
    if "error" in result:
        return [*start, f"failed: {result['error']}", *([""] * (len(COLUMNS) - 3))]
    ours = min((_seconds(r) for r in results if (r["job"], r["contestant"]) == (result["job"], "ours")), default=0.0)
    is_peer = result["contestant"] != "ours"
    return [
        *start,
        f"{result['seconds']:.1f}",
        str(result.get("calls", "")),
        *(_count(result.get(f"{name}_tokens")) for name in ("evaluated", "reused", "sampled", "forced")),
        f"{result['peak_bytes'] / 1e6:,.0f} MB",
        f"{result['quality']['quality']:.3f}",
        f"{result['floor_seconds']:.1f}" if "floor_seconds" in result else "",
        f"{result['floor_ratio']:.2f}" if "floor_ratio" in result else "",
        f"{result['seconds'] / ours:.2f} x" if is_peer and 0 < ours < float("inf") else "",
    ]


def _count(value: Any) -> str:
    return "" if value is None else f"{value:,}"


def _growth(results: Sequence[Result]) -> str:
    """Show how time grows with documents and prompts, beside how the floor grows."""
    base = next((r for r in results if r["documents"] == r["prompts"] == 1 and "seconds" in r), None)
    rows = []
    for result in results:
        size = [f"x{result['documents']}", f"x{result['prompts']}"]
        if "error" in result:
            rows.append([*size, f"failed: {result['error']}", "", "", "", ""])
            continue
        seconds, floor = result["seconds"], result["floor_seconds"]
        growth = [f"{seconds / base['seconds']:.2f}", f"{floor / base['floor_seconds']:.2f}"] if base else ["", ""]
        rows.append([*size, f"{seconds:.1f}", f"{floor:.1f}", f"{seconds / floor:.2f}", *growth])
    return _table(("documents", "prompts", "seconds", "floor", "x floor", "time grew", "floor grew"), rows)


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
