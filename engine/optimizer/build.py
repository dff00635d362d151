"""Build a better pipeline: read the datasets, draw a sample, search, compare whole plans, choose by policy."""

from __future__ import annotations

import asyncio
import itertools
import math
import time
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from engine.directives.base import Facts
from engine.errors import RedwellError, UsageError
from engine.executor.asking import CachedAsk
from engine.executor.datasets import DatasetReader
from engine.executor.events import Emit
from engine.executor.model_pool import ModelPool, OpenEmbedder, OpenModel
from engine.executor.parsing import ParsingFunctions
from engine.loader import Loaded
from engine.optimizer.agent_client import CountingModel, Reuse
from engine.optimizer.budget import Budget, OutOfTime
from engine.optimizer.build_options import BuildOptions
from engine.optimizer.candidates import TOP, Candidate, Contest, Entry, Region
from engine.optimizer.evaluating import Evaluation, source_fields
from engine.optimizer.events import BuildFinished, BuildStarted
from engine.optimizer.frontier import Choice, Point, Policy, choose, frontier
from engine.optimizer.gold import Gold, reviewed_gold, reviewed_run
from engine.optimizer.guarding import SECONDS, guarding, guards
from engine.optimizer.instantiate import GenerationAgent
from engine.optimizer.rating import Rater
from engine.optimizer.sample_runs import SampleRunner, Speed
from engine.optimizer.sampling import Sample, code_books, joined_terms, uniform
from engine.optimizer.search import Search
from engine.plan.plan import Plan
from engine.results.gold import gold_rows
from engine.rows import DocumentId, Row, RowId
from models.errors import ModelError
from storage.case import Case

Result = TypeVar("Result")

SEARCH_SHARE = 0.8
"""Of the time, what the search may take; the rest is for comparing whole plans."""


@dataclass(frozen=True, kw_only=True)
class BuildResult:
    """How a build ended. `status`: finished, out of time, stopped; `folder` is how many times the sample all rows are.

    `points` are the finalists by score and time, `own` that of the user's plan; `front` those that none dominates.
    `sample` counts the rows that the choice rests on, of all `rows`.
    """

    status: str
    search: Search
    finals: Contest
    points: tuple[Point, ...]
    own: Point
    front: tuple[Point, ...]
    choice: Choice
    reuse: Reuse
    seconds: float
    sample: int
    rows: int
    folder: float
    options: BuildOptions

    @property
    def chosen(self) -> Candidate:
        """Return the plan that was chosen."""
        return self.search.candidates[self.choice.plan]

    @property
    def user(self) -> Candidate:
        """Return the user's own plan."""
        return self.finals.own.candidate


async def build_pipeline(  # noqa: PLR0913 - what a build needs
    loaded: Loaded,
    case: Case,
    *,
    open_model: OpenModel,
    open_embedder: OpenEmbedder,
    emit: Emit,
    options: BuildOptions | None = None,
    speed: Speed | None = None,
    clock: Callable[[], float] = time.monotonic,
    watch: Callable[[Search], None] = lambda search: None,
) -> BuildResult:
    """Look for a better plan until the minutes are over; the best until then stands, also when cancelled.

    `watch` is shown the search when it begins, to look at its plans while it goes on. Outputs and replies are kept in
    the case, so a build after a kill, or of a changed pipeline, makes none twice.
    Raises a RedwellError where the user's own pipeline cannot run on the sample.
    """
    options = options or BuildOptions()
    budget = Budget(options.minutes * 60, clock=clock)
    pool = ModelPool(open_model, open_embedder, emit, override=options.settings.model)
    agents = ModelPool(open_model, open_embedder, emit) if options.agent_model else pool
    build = _Build(loaded, case, pool, agents, emit, options, budget, speed or Speed(), clock)
    try:
        return await build.run(watch)
    finally:
        await build.close()


@dataclass
class _Outcome:
    """The comparison of whole plans, as far as it came, and what is chosen; `times` as FileDraw.times."""

    finals: Contest
    times: float
    choice: Choice


@dataclass
class _Build:
    """One build in progress."""

    loaded: Loaded
    case: Case
    pool: ModelPool
    agent_pool: ModelPool
    emit: Emit
    options: BuildOptions
    budget: Budget
    speed: Speed
    clock: Callable[[], float]

    def __post_init__(self) -> None:
        self.asking = CachedAsk(self.case.replies, None, self.emit)
        self.runner = SampleRunner(
            self.case,
            self.pool,
            self.asking,
            speed=self.speed,
            emit=self.emit,
            trusts_code=self.options.settings.trust_code,
            clock=self.clock,
        )

    async def close(self) -> None:
        """Release processes and models."""
        try:
            await self.runner.close()
        finally:
            try:
                await self.pool.close()
            finally:
                await self.agent_pool.close()

    async def run(self, watch: Callable[[Search], None]) -> BuildResult:
        plan, options = self.loaded.plan, self.options
        baseline = Candidate(id=1, plan=plan)
        run = reviewed_run(self.case, plan)
        draw = FileDraw(options.seed, options.rows, reviewed_files(self.case, run))
        rows = await self._in_time(
            read_datasets(self.loaded, self.case, self.emit, options, draw), "reading the documents"
        )
        gold = reviewed(self.case, run, rows)
        books, terms = code_books(plan, rows), joined_terms(plan, rows)
        sample = Sample.draw(rows, options.seed, first=gold.records, count=options.rows, books=books, terms=terms)
        count = sample.enough(options.rows)
        fields = source_fields(sample)
        self.runner.source_fields = fields
        self.runner.whole = {name: round(draw.times * len(rows)) for name, rows in sample.documents.items()}
        name = options.agent_model or plan.default_model
        backend = await self._in_time(self.agent_pool.model(name), "loading the model")
        reader = await self._in_time(self.pool.model(plan.default_model), "loading the model")
        model = CountingModel(backend, self.asking, self.runner.reuse)
        evaluation = Evaluation(
            runner=self.runner,
            rater=Rater(model, gold),
            proposer=GenerationAgent(model),
            speed=self.speed,
            sample=sample,
            user=plan,
            facts=Facts(context_tokens=reader.context_tokens, models=options.other_models, source_fields=fields),
            emit=self.emit,
            measure=options.measure,
            clock=self.clock,
            ids=itertools.count(baseline.id + 1),
        )
        search = Search(evaluation, baseline, count, options.depth)
        watch(search)
        self._tell_start(baseline, count, round(draw.times * sample.size), backend.name, gold)
        outcome = _Outcome(Contest(_whole(plan), Entry(baseline)), draw.times, Choice(baseline.id, ""))
        stopped = await self._stoppable(self._work(search, baseline, count, outcome))
        return await self._result(search, outcome, sample, count, stopped=stopped)

    async def _work(self, search: Search, baseline: Candidate, count: int, outcome: _Outcome) -> None:
        share = 1.0 if search.is_one_whole else SEARCH_SHARE  # of one there is no other to compare besides
        await search.optimise(self.budget.share(self.budget.left * share))
        rows = max([count, *(contest.level for contest in search.contests if contest.depth == 0)])
        outcome.finals = await compare_wholes(search, baseline, rows, search.evaluation, self.budget)

    async def _stoppable(self, work: Coroutine[Any, Any, None]) -> bool:
        """Work to the end; return whether the user stopped it, which ends it as if the time were over."""
        task = asyncio.ensure_future(work)
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            self.budget.stop()
            task.cancel()
            await asyncio.wait([task])
            if not task.cancelled():
                task.result()
            return True
        return False

    async def _in_time(self, work: Awaitable[Result], doing: str) -> Result:
        try:
            async with self.budget.limit():
                return await work
        except OutOfTime as error:
            raise UsageError(
                f"the {self.options.minutes:g} minutes ran out while {doing}",
                advice="Allow more minutes; what was read is kept, so the next attempt begins where this one ended.",
            ) from error

    # -- what is told --------------------------------------------------------------------------------------------

    def _tell_start(self, baseline: Candidate, count: int, rows: int, agent: str, gold: Gold) -> None:
        plan, options = self.loaded.plan, self.options
        self.emit(
            BuildStarted(
                case=str(self.case.path),
                model=options.settings.model or plan.default_model,
                agent_model=agent,
                minutes=options.minutes,
                documents=count,
                rows=rows,
                operators=tuple(dict.fromkeys(name for step in plan.steps for name in step.operators)),
                plan=baseline.id,
                reviewed=sum(record.rows for record in gold.records.values()),
            )
        )

    async def _result(
        self, search: Search, outcome: _Outcome, sample: Sample, count: int, *, stopped: bool
    ) -> BuildResult:
        finals = outcome.finals

        def folder(rows: int) -> float:
            return outcome.times * sample.characters() / max(1, sample.characters(rows or count))

        points, user_point = points_of(finals, folder, search.contests)
        status = "stopped" if stopped else "finished" if self.budget.left else "out of time"
        policy, is_late = self.options.policy, status == "out of time"
        outcome.choice = choice_of(policy, search.best, finals, points, user_point, is_late=is_late)
        if not stopped and await self._stoppable(self._guard(search, outcome, points, user_point)):
            status = "stopped"
        result = BuildResult(
            status=status,
            search=search,
            finals=finals,
            points=tuple(points),
            own=user_point,
            front=_front(points, user_point, outcome.choice),
            choice=outcome.choice,
            reuse=self.runner.reuse,
            seconds=self.budget.spent,
            sample=_rated_rows(search, finals) or count,
            rows=round(outcome.times * sample.size),
            folder=folder(count),
            options=self.options,
        )
        self.emit(_finished(result))
        return result

    async def _guard(self, search: Search, outcome: _Outcome, points: list[Point], user_point: Point) -> None:
        """Put guards into the chosen plan (engine.optimizer.guarding); it keeps its rating: next to nothing changes.

        Where that cannot be done, the plan stays as it was chosen.
        """
        choice = outcome.choice
        contest, entry = _tried(search, outcome.finals, choice.plan)
        if not entry.outputs:
            return
        count, budget = max(entry.outputs), Budget(SECONDS, clock=self.clock)
        placed = await guards(search.evaluation, entry.candidate.plan, count, budget)
        if not placed:
            return
        parent, made = entry.candidate, []
        for guard in placed:
            parent = guarding(next(search.evaluation.ids), parent, guard)
            made.append(parent)
        last = replace(entry, candidate=parent, outputs={})
        try:
            last.outputs[count] = await search.evaluation.output(contest, last, count, budget)
        except (OutOfTime, RedwellError, ModelError):
            return
        for candidate in made:
            search.candidates[candidate.id] = candidate
            search.evaluation.tell_found(candidate)
        if count in last.ratings:
            search.evaluation.tell_rated(last, count)
        contest.entries.append(last)
        points += [replace(point, plan=parent.id) for point in (user_point, *points) if point.plan == choice.plan]
        words = "; ".join(guard.words for guard in placed)
        outcome.choice = Choice(parent.id, f"{choice.reason}; a check by code is added: {words}")


def _tried(search: Search, finals: Contest, plan: int) -> tuple[Contest, Entry]:
    """Return what a plan made of the sample, of the whole pipeline where that was tried."""
    entries = [
        (contest, entry)
        for contest in (finals, *reversed(search.contests))
        for entry in contest.everyone()
        if entry.candidate.id == plan
    ]
    return next((pair for pair in entries if pair[1].outputs), entries[0])


def _rated_rows(search: Search, finals: Contest) -> int:
    """Return the most rows on which another plan was rated beside the user's own, as a whole if it was; else 0."""
    wholes = [finals] if finals.ranked(finals.level) else search.contests
    return max((contest.level for contest in wholes if contest.depth == 0 and contest.ranked(contest.level)), default=0)


def _front(points: Sequence[Point], user_point: Point, choice: Choice) -> tuple[Point, ...]:
    """Return the plans that none dominates, of equals the chosen one."""
    chosen_first = sorted((user_point, *points), key=lambda point: point.plan != choice.plan)
    return tuple(frontier([point for point in chosen_first if point.score]))


def _finished(result: BuildResult) -> BuildFinished:
    chosen = next((p for p in result.points if p.plan == result.choice.plan), result.own)
    reuse = result.reuse
    return BuildFinished(
        status=result.status,
        chosen=result.choice.plan,
        score=chosen.score,
        own_score=result.own.score,
        folder_seconds=chosen.seconds,
        reason=result.choice.reason,
        seconds=result.seconds,
        outputs_made=reuse.outputs_made,
        outputs_reused=reuse.outputs_reused,
        calls_made=reuse.calls_made,
        calls_reused=reuse.calls_reused,
    )


Folder = Callable[[int], float]


def finalists(search: Search, own: Candidate) -> list[Candidate]:
    """Return the plans to compare as wholes: what the search chose, then the best rated rewrites of parts."""
    candidates = [search.best]
    for contest in reversed(search.contests):
        if contest.depth == 0:
            candidates += [entry.candidate for entry in contest.ranked(contest.level)]
    distinct: dict[str, Candidate] = {}
    for candidate in candidates:
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

    `folder` says how many times so many rows of the sample all rows are. Ratings and times of different parts or rows
    cannot be compared: where the finals did not come to rate another plan, those are told that the search gave to the
    whole, or else to the last part of the user's own plan that it rewrote.
    """
    points = [_point(contest, entry, folder) for entry in contest.ranked(contest.level)]
    if points:
        return points, _point(contest, contest.own, folder)
    about_own = [other for other in searched if other.depth == 0 and other.own.candidate is contest.own.candidate]
    rated = [other for other in about_own if other.ranked(other.level)]
    same = [other for other in about_own if other.region == contest.region]
    unrated = [] if contest.own.rating else same
    told = [*(other for other in same if other in rated), *reversed(rated), *unrated, contest][0]
    return [_point(told, entry, folder) for entry in told.ranked(told.level)], _point(told, told.own, folder)


def choice_of(
    policy: Policy, best: Candidate, finals: Contest, points: Sequence[Point], own: Point, *, is_late: bool
) -> Choice:
    """Choose by a policy. `best`: what the search put together, which may not have been run as a whole.

    `is_late` says that there was no time for that.
    """
    choice = choose(points, own, policy)
    is_untried = best is not finals.own.candidate and not any(point.plan == best.id for point in points)
    has_failed = any(entry.trouble for entry in finals.entries if entry.candidate is best)
    if policy.name == "best" and is_untried and not has_failed:
        return Choice(best.id, "it did better part by part; there was no time to compare it as a whole")
    if is_late and not points and choice.plan == own.plan:
        reason = "there was no time to rate another; allow more minutes, or try plans on fewer documents"
        return Choice(own.plan, reason)
    return choice


def _point(contest: Contest, entry: Entry, folder: Folder) -> Point:
    plan = contest.own.candidate.plan
    rating, output = entry.ratings.get(contest.level), entry.outputs.get(contest.level)
    return Point(
        plan=entry.candidate.id,
        score=rating.score if rating else 0.0,
        seconds=output.seconds * folder(contest.level) if output else 0.0,
        beats=contest.beats(entry),
        is_guess=contest.is_guess(entry),
        is_whole=contest.region.step == _whole(plan).step and contest.region.behind == 0,
    )


def _whole(plan: Plan) -> Region:
    last = plan.steps[-1]
    return Region(last.name, 0, 0)


def _same(search: Search, baseline: Candidate, count: int) -> Contest | None:
    """Return the contest about the only part of a pipeline, where it came to its end on the whole sample."""
    whole = _whole(baseline.plan)
    same = (contest for contest in search.contests if contest.own.candidate is baseline and contest.region == whole)
    part = next(same, None) if len(baseline.plan.steps) == 1 else None
    return part if part is not None and part.level == count and part.ranked(count) else None


async def read_datasets(
    loaded: Loaded, case: Case, emit: Emit, options: BuildOptions, draw: FileDraw
) -> dict[str, Sequence[Row]]:
    """Read the datasets that a step needs, of folders the drawn files; what the case knows is not parsed again.

    Raises UsageError where there are no rows, or none on one side of a join: then nothing matches, whatever the plan.
    """
    plan = loaded.plan
    used = {name for step in plan.steps for name in plan.sources_of(step)}
    reader = DatasetReader(
        case=case,
        emit=emit,
        options=options.settings.parse,
        workers=options.settings.workers,
        directory=loaded.directory,
        tables={},
        choose=draw,
        borders=loaded.borders,
    )
    functions = ParsingFunctions(reader, plan.parsing_tools, trusts_code=options.settings.trust_code)
    datasets: dict[str, Sequence[Row]] = {}
    for dataset in plan.datasets:
        if dataset.name in used:
            read = await reader.read(dataset)
            await functions.apply(dataset, read)
            datasets[dataset.name] = read.rows
    if not any(datasets.values()):
        raise UsageError(
            "the datasets have no rows to try plans on", advice="Choose other documents (command line: --input)."
        )
    steps = [step for step in plan.steps if step.operators and plan.operator(step.operators[0]).traits().inputs == 2]
    for name in datasets.keys() & {name for step in steps for name in step.inputs}:
        if not datasets[name]:
            advice = f"Give other data with --input {name}=PATH."
            raise UsageError(f"the dataset {name!r} has no rows, so nothing can be joined with it", advice=advice)
    return datasets


def reviewed_files(case: Case, run_id: str | None) -> frozenset[Path]:
    """Return the files of which a person judged rows of a run (engine.optimizer.gold.reviewed_run)."""
    documents = {name for row in gold_rows(case, run_id) for name in row.documents} if run_id else set()
    return frozenset(Path(stored.path) for name in documents for stored in case.documents.paths(name))


def reviewed(case: Case, run_id: str | None, datasets: Mapping[str, Sequence[Row]]) -> Gold:
    """Return what people said of the rows of a run, by the rows of the same documents.

    What is known of a document says nothing of one of its pages, so one that several rows were made of is left out.
    """
    made: dict[DocumentId, set[RowId]] = {}
    for row in itertools.chain.from_iterable(datasets.values()):
        if row.document_id:
            made.setdefault(row.document_id, set()).add(row.id)
    by_document = {document: next(iter(ids)) for document, ids in made.items() if len(ids) == 1}
    return reviewed_gold(case, run_id, by_document) if run_id and by_document else Gold({})


# Which files of a large folder are read for a build: those of which a sample is drawn, and no more.
#
# Reading thousands of scans would take longer than the build. So files are drawn by their bytes as rows are by
# characters (engine.optimizer.sampling), several for each document of the sample; the estimate for all goes by bytes.

FILES_PER_ROW = 6
"""Files that are read for each document of the sample: behind filters four times as many are tried, and some fail."""


@dataclass
class FileDraw:
    """Chooses files of folders. `reviewed` are files of which a person judged rows; they are read in any case."""

    seed: int
    rows: int
    reviewed: Collection[Path] = ()
    all_bytes: int = 0
    chosen_bytes: int = 0

    @property
    def times(self) -> float:
        """Return how many times what was read all files are, by bytes; 1 where no folder was read."""
        return self.all_bytes / self.chosen_bytes if self.chosen_bytes else 1.0

    def __call__(self, files: Sequence[Path]) -> list[Path]:
        """Choose files, in the order of their paths."""
        sizes = {path: max(1, path.stat().st_size) for path in files if path.is_file()}
        kept = set(self.reviewed) & sizes.keys()
        for path in sorted(sizes, key=lambda path: -math.log(uniform(self.seed, path.name)) / sizes[path]):
            if len(kept) >= self.rows * FILES_PER_ROW:
                break
            kept.add(path)
        self.all_bytes += sum(sizes.values())
        self.chosen_bytes += sum(sizes[path] for path in kept)
        return sorted(kept, key=lambda path: path.parts)
