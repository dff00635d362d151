"""The end of a build: whole plans side by side, the user's own among them, on the same rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from engine.optimizer.budget import Budget, OutOfTime
from engine.optimizer.candidates import TOP, Candidate, Contest, Entry, Region
from engine.optimizer.evaluating import Evaluation
from engine.optimizer.frontier import Point
from engine.optimizer.search import Search
from engine.plan.plan import Plan

Folder = Callable[[int], float]


def finalists(search: Search, own: Candidate) -> list[Candidate]:
    """Return the plans to compare as wholes: what the search chose, then the best rated rewrites of parts."""
    found = [search.best]
    for contest in reversed(search.contests):
        if contest.depth == 0:
            found += [entry.candidate for entry in contest.ranked(contest.level)]
    distinct: dict[str, Candidate] = {}
    for candidate in found:
        distinct.setdefault(candidate.plan.digest, candidate)
    distinct.pop(own.plan.digest, None)
    return list(distinct.values())[: TOP - 1]


async def compare_wholes(search: Search, own: Candidate, count: int, evaluation: Evaluation, budget: Budget) -> Contest:
    """Rate whole plans on the first `count` rows, as far as the time goes.

    Where the pipeline is one part, the contest about that part was this one already.
    """
    if (same := _same(search, own, count)) is not None:
        return same
    contest = Contest(_whole(own.plan), Entry(own))
    contest.entries = [Entry(candidate) for candidate in finalists(search, own)]
    with suppress(OutOfTime):  # the search's own ratings decide about what was not run here
        await evaluation.run_all(contest, contest.everyone() if contest.entries else [], count, budget)
    contest.settle()
    return contest


def points_of(contest: Contest, folder: Folder, searched: Sequence[Contest]) -> tuple[list[Point], Point]:
    """Return the finalists that can be told of by score and time, and the user's own plan.

    `folder` says how many times so many rows of the sample all rows are. Where the finals did not come to rate a plan,
    what the search made of it on the same rows as the user's own counts.
    """
    own = _point(contest, contest.own, folder)
    points = [_point(contest, entry, folder) for entry in contest.ranked(contest.level)]
    known, is_alone = {point.plan for point in points}, not points
    for earlier in searched:
        if earlier.depth == 0 and earlier.own.candidate is contest.own.candidate:
            late = [entry for entry in earlier.ranked(earlier.level) if entry.candidate.id not in known]
            points += [_point(earlier, entry, folder) for entry in late]
            is_whole = earlier.region == contest.region and not own.score
            if is_whole or (late and (is_alone or not own.score)):  # ratings tell only of the same part and rows
                own = _point(earlier, earlier.own, folder)
    return points, own


def _point(contest: Contest, entry: Entry, folder: Folder) -> Point:
    rating, output = entry.ratings.get(contest.level), entry.outputs.get(contest.level)
    return Point(
        plan=entry.candidate.id,
        score=rating.score if rating else 0.0,
        seconds=output.seconds * folder(contest.level) if output else 0.0,
        beats=contest.beats(entry),
    )


def _whole(plan: Plan) -> Region:
    last = plan.steps[-1]
    return Region(last.name, 0, 0)


def _same(search: Search, own: Candidate, count: int) -> Contest | None:
    """Return the contest about the only part of a pipeline, where it came to its end on the whole sample."""
    part = _part(search, own)
    is_done = part is not None and part.level == count and bool(part.ranked(count))
    return part if is_done else None


def _part(search: Search, own: Candidate) -> Contest | None:
    """Return the contest about the user's whole pipeline, None where it has several parts."""
    whole = _whole(own.plan)
    same = [contest for contest in search.contests if contest.own.candidate is own and contest.region == whole]
    return same[0] if same and len(own.plan.steps) == 1 else None
