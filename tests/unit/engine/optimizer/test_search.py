"""The search on a scripted model, rater and proposer: which plans are tried where, in which order, and which stands."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import pytest
from scripted_build import Site, Toy, saying, toys
from scripted_run import PLAIN, pipeline, prompt_of, write_jsonl, write_texts

import engine.optimizer.sample_runs
from engine.directives.base import Params, Place
from engine.directives.document_chunking import DocumentChunking
from engine.directives.splicing import spliced
from engine.directives.synthesised_blocking import SynthesisedBlocking
from engine.errors import PipelineError, UsageError
from engine.executor.settings import RunSettings
from engine.loader import parse_pipeline
from engine.optimizer.events import (
    BuildFinished,
    BuildProgress,
    BuildStarted,
    CandidateDropped,
    CandidateFound,
    CandidateRated,
    PlaceFinished,
    PlaceStarted,
)
from engine.optimizer.frontier import Policy
from engine.optimizer.sampling import drawn
from engine.rows import Row
from models.errors import ModelMissing
from models.protocol import CHARACTERS_PER_TOKEN

SCORES = {"bad": 1.0, "poor": 2.0, "fair": 2.5, "good": 3.0, "fine": 3.5, "right": 4.0}
TEXTS = {f"{n}.txt": f"Record {n}.\n" + "word " * (50 + n) for n in range(8)}
FIND = '  - {name: find, type: map, prompt: "bad {{ input.text }}", output: {schema: {found: string}}}\n'


def answer(request):
    """The first word of the prompt is the answer."""
    word = prompt_of(request).split()[0]
    return {name: word for name in request.schema["properties"]}


def score(rows):
    """The mean of what the last fields say, by SCORES."""
    told = [SCORES.get(str(list(row.values())[-1]), 1.0) if row else 1.0 for row in rows]
    return sum(told) / len(told) if told else 1.0


@pytest.fixture
def site(tmp_path):
    return Site(tmp_path, answer, score)


@pytest.fixture
def records(tmp_path):
    return write_texts(tmp_path / "in", TEXTS)


def better(name: str, word: str, ends: str = "find") -> Toy:
    return Toy(name, ends, lambda nodes: [saying(nodes[-1], word + " {{ input.text }}")])


def prompts(result):
    return [node.prompt.text.split()[0] for node in result.chosen.plan.operators if getattr(node, "prompt", None)]


def test_the_plan_with_the_best_output_is_chosen(site, records, monkeypatch):
    with toys(monkeypatch, better("one", "poor"), better("two", "good"), better("three", "fair")):
        result = site.build(pipeline(records, FIND), depth=0)
    assert prompts(result) == ["good"]
    assert result.chosen.directive == "two"
    assert result.status == "finished"
    (end,) = site.of(BuildFinished)
    assert (end.score, end.own_score) == (3.0, 1.0)
    assert [e.directive for e in site.of(CandidateFound)] == ["one", "two", "three"]


def test_nothing_is_tried_where_no_plan_could_be_rated_higher(site, records, monkeypatch):
    with toys(monkeypatch, better("one", "good")):
        result = site.build(pipeline(records, FIND.replace("bad", "right")))
    assert site.of(CandidateFound) == []
    assert [(e.reason, e.chosen) for e in site.of(PlaceFinished)] == [("nothing was found to improve", 1)]
    assert result.chosen is result.user
    (end,) = site.of(BuildFinished)
    assert (end.score, end.own_score) == (4.0, 4.0)
    assert [e.rows for e in site.of(CandidateRated)] == [4]


@pytest.mark.parametrize(("kind", "tried"), [("string", 0), ("list[string]", 1)])
def test_of_a_list_nobody_sees_by_itself_what_it_lacks(site, records, monkeypatch, kind, tried):
    find = FIND.replace("found: string", f'found: "{kind}"').replace("bad", "right")
    site.answer = lambda request: {"found": ["right"] if "list" in kind else "right"}
    site.score = lambda rows: 4.0
    with toys(monkeypatch, better("one", "good")):
        site.build(pipeline(records, find), depth=0)
    assert len(site.of(CandidateFound)) == tried


def test_what_is_done_is_told_before_it_is_done(site, records, monkeypatch):
    with toys(monkeypatch, better("one", "good")):
        site.build(pipeline(records, FIND), minutes=5, depth=0)
    told = [e.doing for e in site.of(BuildProgress)]
    assert told[:5] == [
        "running your own plan on 4 rows",
        "trying one",
        "running plan 2 on 4 rows",
        "running your own plan on 8 rows",
        "running plan 2 on 8 rows",
    ]
    # What is left is left of the whole build, not of the share that a part of it has.
    assert all(math.isclose(e.spent_seconds + e.left_seconds, 300, abs_tol=1) for e in site.of(BuildProgress))


def test_a_plan_that_does_not_beat_the_users_own_is_not_chosen(site, records, monkeypatch):
    with toys(monkeypatch, better("one", "poor"), better("two", "good")):
        result = site.build(pipeline(records, FIND.replace("bad", "good")))
    assert result.chosen is result.user
    assert result.choice.reason == "no other plan did better"


@pytest.mark.parametrize(("rated", "chosen"), [(3.09, "bad"), (3.11, "good")])
def test_a_difference_of_ratings_must_be_more_than_chance(site, records, monkeypatch, rated, chosen):
    site.score = lambda rows: {"bad": 3.0, "good": rated}[str(list(rows[0].values())[-1])]
    with toys(monkeypatch, better("one", "good")):
        result = site.build(pipeline(records, FIND), depth=0)
    assert prompts(result) == [chosen]


def test_operators_are_optimised_left_to_right_each_on_what_was_chosen_before(site, records, monkeypatch):
    two = FIND + '  - {name: sum, type: map, prompt: "bad {{ input.found }}", output: {schema: {short: string}}}\n'
    second = Toy("second", "sum", lambda nodes: [saying(nodes[-1], "good {{ input.found }}")])
    with toys(monkeypatch, second, better("first", "fine")):
        result = site.build(pipeline(records, two))
    assert [e.operators for e in site.of(PlaceStarted)] == [("find",), ("sum",)]
    first, last = site.of(CandidateFound)
    assert (first.directive, last.directive) == ("first", "second")
    assert last.parent == first.plan
    assert prompts(result) == ["fine", "good"]


def test_new_operators_are_optimised_at_once_to_a_depth(site, records, monkeypatch):
    def deeper(number: int) -> Toy:
        ends = "find" if number == 0 else f"new_{number - 1}"
        word = ("poor", "fair", "good", "fine")[number]
        return Toy(f"d{number}", ends, lambda nodes: [saying(nodes[-1], word + " {{ input.text }}", f"new_{number}")])

    with toys(monkeypatch, *map(deeper, range(4))):
        result = site.build(pipeline(records, FIND), depth=2)
    found = site.of(CandidateFound)
    assert [(e.directive, e.depth) for e in found] == [("d0", 0), ("d1", 1), ("d2", 2)]
    assert [e.parent for e in found] == [1, found[0].plan, found[1].plan]
    assert prompts(result) == ["good"]


def test_a_directive_is_not_applied_again_inside_its_own_rewrite(site, records, monkeypatch):
    again = Toy("again", "find", lambda nodes: [saying(nodes[-1], "good " + nodes[-1].prompt.text)])
    with toys(monkeypatch, again):
        site.build(pipeline(records, FIND))
    assert len(site.of(CandidateFound)) == 1


def test_half_of_the_candidates_go_on_to_twice_the_rows(site, records, monkeypatch):
    words = ["poor", "good", "fair", "fine", "poor x", "good x", "fair x", "fine x"]
    with toys(monkeypatch, *(better(f"t{n}", word) for n, word in enumerate(words))):
        site.build(pipeline(records, FIND), depth=0)
    rated = [e for e in site.of(CandidateRated) if e.plan != 1]
    on_few = [e.plan for e in rated if e.rows == 4]
    on_all = list(dict.fromkeys(e.plan for e in rated if e.rows == 8))
    assert len(on_few) == 8
    names = {e.plan: e.directive for e in site.of(CandidateFound)}
    assert sorted(names[plan] for plan in on_all) == ["t1", "t3", "t5", "t7"]


def test_a_sample_is_enlarged_behind_a_filter(site, tmp_path, monkeypatch):
    rows = [{"text": f"{'keep' if n % 2 else 'drop'} " + "word " * 400} for n in range(40)]
    records = write_jsonl(tmp_path / "rows.jsonl", rows)
    operations = '  - {name: keep, type: filter, condition: input.text.startswith("keep")}\n' + FIND
    with toys(monkeypatch, better("one", "good")):
        result = site.build(pipeline(records, operations))
    sample = drawn([Row.source("records", str(n), row) for n, row in enumerate(rows)], 0)[:8]
    kept = sum(row.values["text"].startswith("keep") for row in sample)
    (place,) = site.of(PlaceStarted)
    assert place.rows == min(4 * 8, math.ceil(8 * 8 / kept))
    assert (result.finals.level, result.sample) == (place.rows, place.rows)  # whole plans are compared on no fewer


def test_of_rows_that_take_long_to_read_plans_are_tried_on_fewer_first(site, tmp_path, monkeypatch):
    records = write_texts(tmp_path / "long", {f"{n}.txt": f"Record {n}. " + "word " * 800 for n in range(8)})
    with toys(monkeypatch, better("one", "good")):
        site.build(pipeline(records, FIND), minutes=2, depth=0)
    # A row has 1,000 tokens, which take 10 s at 100 tokens a second; a tenth of 120 s is enough for one.
    assert list(dict.fromkeys(e.rows for e in site.of(CandidateRated))) == [1, 4, 8]


SAME = """\
  - {name: same, type: resolve, blocking_threshold: -1, output: {schema: {found: string}},
     comparison_prompt: "{{ input1.found }}|{{ input2.found }}"}
"""


def names_and_yes(request):
    """Find another name in each record; all are the same."""
    return True if request.purpose.task == "compare" else {"found": prompt_of(request).split()[-1]}


def test_what_is_the_same_is_compared_in_all_rows_of_the_sample_at_once(site, records, monkeypatch):
    site.answer = names_and_yes
    odds = Toy("odds", "same", lambda nodes: [replace(nodes[-1], blocking_threshold=0.99)])
    with toys(monkeypatch, odds):
        site.build(pipeline(records, FIND + SAME))
    assert {e.rows for e in site.of(CandidateRated)} == {8}


def test_comparing_pairs_gets_less_of_the_time_than_reading_texts(site, records, monkeypatch):
    site.answer = names_and_yes
    odds = Toy("odds", "same", lambda nodes: [replace(nodes[-1], blocking_threshold=0.99)])
    with toys(monkeypatch, better("one", "good"), odds):
        result = site.build(pipeline(records, FIND + SAME))
        shares = [result.search._share(Place("all", index)) for index in (0, 1)]
    assert shares == pytest.approx([0.75, 1.0])  # 1 of 1 + 1/3, then all that is left


JOIN = """
datasets:
  papers: {{type: file, path: {papers}}}
  terms: {{type: file, path: {terms}}}
operations:
  - name: join
    type: equijoin
    limit_comparisons: 16
    comparison_prompt: "{{{{ left.text }}}} {{{{ right.term }}}}"
pipeline: {{steps: [{{name: all, operations: [join: {{left: papers, right: terms}}]}}]}}
"""


def test_of_a_join_with_many_terms_code_proposes_the_pairs_and_the_limit_is_that_of_the_documents(
    site, tmp_path, monkeypatch
):
    words = [f"{'abcdefgh'[n]}{n}" for n in range(8)]
    padding = " of a long report" * 20
    papers = write_jsonl(tmp_path / "papers.jsonl", [{"text": f"Pains {one}{padding} Acute"} for one in words])
    others = [{"term": f"Acute report of {n} long pains"} for n in range(80)]
    terms = write_jsonl(tmp_path / "terms.jsonl", [*({"term": f"Acute {one.upper()} pains"} for one in words), *others])
    asked = []

    def match(request):
        asked.append(prompt_of(request))
        text, term = asked[-1].split(" Acute ")
        return term.split()[1].casefold() == text.split()[1]

    site.answer = match
    site.score = lambda rows: 1.0 + 3.0 * len(rows) / 8
    loaded = parse_pipeline(JOIN.format(papers=papers, terms=terms))
    with toys(monkeypatch, SynthesisedBlocking()):
        result = site.build(loaded, depth=0)
    [join] = result.chosen.plan.operators
    assert [each.text for each in join.blocking_conditions] == [
        "(left.text | words) | overlap(right.term | words) == 1"
    ]
    assert join.limit_comparisons == 16
    (start,) = site.of(BuildStarted)
    assert (start.documents, start.rows) == (8, 8)
    # Four of eight papers first: the user's plan asks about half of its pairs, the other about the one of each paper.
    assert len(asked) >= 8
    assert {e.rows for e in site.of(CandidateRated)} == {4, 8}
    entry = next(one for one in result.finals.everyone() if one.candidate is result.chosen)
    assert len(entry.outputs[8].rows) == 8


def test_a_join_with_nothing_on_one_side_is_an_error(site, tmp_path):
    papers = write_texts(tmp_path / "papers", {})
    terms = write_jsonl(tmp_path / "terms.jsonl", [{"term": "acute pains"}])
    join = JOIN.replace("papers: {{type: file", "papers: {{type: folder")
    with pytest.raises(UsageError, match="'papers' has no rows") as caught:
        site.build(parse_pipeline(join.format(papers=papers, terms=terms)))
    assert "--input papers=PATH" in caught.value.advice
    assert site.backend.requests == []


WITH_NOTHING = """
datasets: {papers: {type: folder, path: in}, notes: {type: folder, path: notes}, rest: {type: folder, path: rest}}
operations:
  - {name: sort, type: map, prompt: "fine {{ input.text }}", output: {schema: {sorted: string}}}
  - {name: find, type: map, prompt: "bad {{ input.text }}", output: {schema: {found: string}}}
pipeline:
  steps:
    - {name: others, input: rest, operations: [sort]}
    - {name: all, input: [papers, notes, others], operations: [find]}
"""


def test_rows_of_several_datasets_after_one_another_may_be_those_of_one(site, records, tmp_path, monkeypatch):
    """Nothing is joined; and of the rows that are not there no field is missed."""
    write_texts(tmp_path / "notes", {})
    write_texts(tmp_path / "rest", {})
    with toys(monkeypatch, better("one", "good")):
        result = site.build(parse_pipeline(WITH_NOTHING, directory=tmp_path), depth=0)
    assert site.of(CandidateDropped) == []
    assert result.chosen.directive == "one"


def test_a_rewrite_that_cannot_be_made_is_told_and_the_others_go_on(site, records, monkeypatch):
    wrong = Toy("wrong", "find", lambda nodes: [saying(nodes[-1], "good {{ input.nothing }}")])
    with toys(monkeypatch, wrong, better("right", "good")):
        result = site.build(pipeline(records, FIND), depth=0)
    (dropped,) = site.of(CandidateDropped)
    assert dropped.directive == "wrong"
    assert "nothing" in dropped.reason
    assert result.chosen.directive == "right"


EMPTY_SIDE = """
datasets: {papers: {type: file, path: papers.jsonl}, roster: {type: file, path: roster.jsonl}}
operations:
  - {name: none, type: filter, condition: input.name == "nobody"}
  - {name: match, type: equijoin, how: left, comparison_prompt: "{{ left.text }} {{ right.name }}"}
  - {name: tell, type: map, prompt: "bad {{ input.text }} {{ input.name }}", output: {schema: {found: string}}}
pipeline:
  steps:
    - {name: nobody, input: roster, operations: [none]}
    - {name: result, operations: [match: {left: papers, right: nobody}, tell]}
"""


def test_a_left_join_with_nothing_on_the_right_writes_the_fields_that_a_run_writes(site, tmp_path, monkeypatch):
    write_jsonl(tmp_path / "papers.jsonl", [{"text": text} for text in TEXTS.values()])
    write_jsonl(tmp_path / "roster.jsonl", [{"name": "Diaz"}])
    with toys(monkeypatch, better("one", "good", ends="tell")):
        result = site.build(parse_pipeline(EMPTY_SIDE, directory=tmp_path), depth=0)
    assert [entry.output.failed for entry in result.finals.everyone()] == [(), ()]
    assert {row.values["found"] for row in result.finals.own.output.rows} == {"bad"}


class Unfillable(Toy):
    """Fits, and has no parameters."""

    def variants(self, site):
        raise PipelineError("no prompt can be written of it")


def test_a_rewrite_whose_parameters_cannot_be_written_down_is_told_and_the_others_go_on(site, records, monkeypatch):
    broken = Unfillable("broken", "find", lambda nodes: [])
    with toys(monkeypatch, broken, better("right", "good")):
        result = site.build(pipeline(records, FIND), depth=0)
    (dropped,) = site.of(CandidateDropped)
    assert (dropped.directive, dropped.parent) == ("broken", 1)
    assert "no prompt can be written of it" in dropped.reason
    assert result.chosen.directive == "right"


def test_a_rewrite_that_fails_while_its_new_operators_are_rewritten_ends_no_build(site, records, monkeypatch):
    def fails(request):
        if prompt_of(request).startswith("fine") and "Record 7." in prompt_of(request):
            raise ModelMissing("the weights are gone")
        return answer(request)

    site.answer = fails
    first = Toy("first", "find", lambda nodes: [saying(nodes[-1], "fine {{ input.text }}", "new")])
    inner = Toy("inner", "new", lambda nodes: [saying(nodes[-1], "good {{ input.text }}")])
    with toys(monkeypatch, first, inner, better("other", "fair")):
        result = site.build(pipeline(records, FIND), depth=1)
    (dropped,) = site.of(CandidateDropped)
    assert dropped.directive == "first"
    assert "the weights are gone" in dropped.reason
    assert result.chosen.directive == "other"


@dataclass(frozen=True, kw_only=True)
class Mark(Params):
    """What is put behind a prompt."""

    mark: str


class Marking(Toy):
    """Puts one of some marks behind a prompt, each a variant."""

    is_settled = True

    def __init__(self, name, *marks):
        super().__init__(name, "find", lambda nodes: [])
        self._marks = marks

    def variants(self, site):
        return [Mark(mark=mark) for mark in self._marks]

    def apply(self, site, params):
        node = site.operator
        return spliced(site, [saying(node, f"{node.prompt.text} +{params.mark}")])


def test_of_each_directive_the_best_plan_is_put_together_with_others_in_the_order_of_their_ratings(
    site, records, monkeypatch
):
    site.answer = lambda request: {"found": "".join(word for word in prompt_of(request).split() if word[0] == "+")}
    rated = {"": 1.0, "+a": 3.8, "+b": 3.4, "+c": 3.3, "+d": 3.2, "+e": 3.1}
    site.score = lambda rows: rated.get(rows[0]["found"], 2.0)
    with toys(monkeypatch, Marking("one", "a", "e"), *(Marking(f"of {mark}", mark) for mark in "bcd")):
        result = site.build(pipeline(records, FIND), depth=0)
    made = result.search.candidates
    crossed = [one for one in made.values() if one.parent and made[one.parent].parent]
    assert [(made[one.parent].params, one.directive) for one in crossed] == [({"mark": "a"}, "of b")]


def test_a_second_build_makes_nothing_again(site, records, monkeypatch):
    with toys(monkeypatch, better("one", "good"), better("two", "fair")):
        first = site.build(pipeline(records, FIND))
        again = site.build(pipeline(records, FIND))
    assert first.reuse.outputs_made > 0
    assert (again.reuse.outputs_made, again.reuse.calls_made) == (0, 0)
    # The same outputs: the user's own and the better rewrite on 8 rows, the other on 4.
    assert again.reuse.outputs_reused == first.reuse.outputs_made == 8 + 8 + 4
    assert site.backend.requests == []


def test_after_a_changed_prompt_every_unaffected_output_is_reused(site, records, monkeypatch):
    two = FIND + '  - {name: sum, type: map, prompt: "bad {{ input.found }}", output: {schema: {short: string}}}\n'
    with toys(monkeypatch, better("one", "good"), better("two", "fair")):
        first = site.build(pipeline(records, two))
        changed = site.build(pipeline(records, two.replace('"bad {{ input.found', '"poor {{ input.found')))
    before, after = first.reuse, changed.reuse
    # find: the user's own and the better rewrite on 8 rows, the other on 4; sum: behind the first two, on 8 rows each.
    assert (before.outputs_made, before.outputs_reused) == ((8 + 8 + 4) + 2 * 8, 0)
    assert (after.outputs_made, after.outputs_reused) == (2 * 8, 8 + 8 + 4)
    # `find` was not changed: its outputs come from the case; only those of `sum` are made.
    assert {request.purpose.operator for request in site.backend.requests} == {"sum"}


def test_outputs_of_another_embedding_model_are_not_reused(site, records, monkeypatch):
    two = "  - {name: once, type: dedup, keys: [text], embedding_threshold: 0.99}\n" + FIND
    site.build(pipeline(records, two))
    again = site.build(pipeline(records, two))
    monkeypatch.setattr("scripted_model.ScriptedEmbedder.digest", "another")
    other = site.build(pipeline(records, two))
    assert (again.reuse.outputs_made, other.reuse.outputs_made > 0, other.reuse.calls_made) == (0, True, 0)


def test_an_output_is_shared_by_plans_that_begin_alike(site, records, monkeypatch):
    two = FIND + '  - {name: sum, type: map, prompt: "bad {{ input.found }}", output: {schema: {short: string}}}\n'
    ways = [
        Toy(f"w{n}", "sum", lambda nodes, n=n: [saying(nodes[-1], f"good {n} {{{{ input.found }}}}")]) for n in "ab"
    ]
    with toys(monkeypatch, *ways):
        result = site.build(pipeline(records, two))
    # find: 8 rows, once; sum: the user's own on 8, one rewrite on 8, and the other, which draws with it on 4, too.
    assert result.reuse.outputs_made == 8 + 8 + 8 + 8
    assert result.reuse.outputs_shared > 0


@pytest.mark.parametrize(("minutes", "all_tried"), [(60.0, True), (1.0, False)])
def test_the_sizes_of_chunks_are_explored_within_the_minutes_given(site, tmp_path, monkeypatch, minutes, all_tried):
    """Paper, 4.2.1: 20 to 80 % and the windows around chunks; the smallest first, and all of them if time is left."""
    site.call_seconds = 1.0
    long = write_texts(tmp_path / "long", {f"{n}.txt": f"Record {n}. " + "word " * 2400 for n in range(8)})
    with toys(monkeypatch, DocumentChunking()):
        result = site.build(pipeline(long, FIND), minutes=minutes, depth=0)
    params = [candidate.params for candidate in result.search.candidates.values() if candidate.directive]
    tried = [(each["chunk_tokens"], each["previous"], each["following"]) for each in params]
    sizes = sorted({size for size, _, _ in tried})
    assert tried[0] == (sizes[0], 0, 0)
    assert tried[1] == (sizes[0], 1, 0)
    assert tried[2] == (sizes[1], 0, 0)
    assert ((sizes[0], 2, 1) in tried) is all_tried
    if all_tried:
        longest = 12_012 / CHARACTERS_PER_TOKEN
        assert sizes == [pytest.approx(longest * share, rel=0.02) for share in (0.2, 0.4, 0.6, 0.8)]


def test_when_the_time_is_over_the_best_so_far_stands(site, records, monkeypatch):
    site.call_seconds = 1.0
    ways = [better(f"t{n}", "good " + "x " * n) for n in range(20)]
    with toys(monkeypatch, *ways):
        result = site.build(pipeline(records, FIND), minutes=1.0)
    assert result.status == "out of time"
    assert result.chosen is not result.user
    assert prompts(result) == ["good"]
    # No more than one wave of calls is under way when the minute is over.
    assert site.clock.now <= 60 + 8


def test_the_rows_that_are_told_are_those_that_plans_were_rated_on(site, records, monkeypatch):
    """Seen: a choice that rested on a single row was told as one of 3 of 91 rows."""
    site.call_seconds = 1.0
    with toys(monkeypatch, *(better(f"t{n}", "good " + "x " * n) for n in range(20))):
        result = site.build(pipeline(records, FIND), minutes=0.3)
    rated = [event.rows for event in site.of(CandidateRated) if event.plan == result.choice.plan]
    assert result.sample == max(rated) < 8


def test_a_build_of_no_time_at_all_keeps_the_users_plan(site, records, monkeypatch):
    site.call_seconds = 10.0
    with toys(monkeypatch, better("one", "good")):
        result = site.build(pipeline(records, FIND), minutes=0.5)
    assert result.status == "out of time"
    assert result.chosen is result.user


def test_the_fastest_plan_that_is_as_good_may_be_wanted(site, records, monkeypatch):
    long = FIND.replace('"bad', '"good ' + "very " * 50)
    with toys(monkeypatch, better("short", "good")):
        result = site.build(pipeline(records, long), policy=Policy("fastest"))
    assert result.chosen.directive == "short"


def test_a_plan_is_not_faster_for_what_a_plan_before_it_has_read(site, records, monkeypatch):
    site.answer = lambda request: {"found": prompt_of(request).split()[-1]}
    later = Toy("later", "find", lambda nodes: [saying(nodes[-1], "{{ input.text }} well, just good")])
    with toys(monkeypatch, later):
        result = site.build(
            pipeline(records, FIND.replace("bad {{ input.text }}", "{{ input.text }} good")), policy=Policy("fastest")
        )
    own, other = (entry.outputs[8].seconds for entry in result.finals.everyone())
    assert other > own  # it asks the same, in more words
    assert result.chosen is result.user


def test_outputs_of_an_earlier_version_are_made_again_from_its_replies(site, records, monkeypatch):
    written = engine.optimizer.sample_runs.made_to_json
    with monkeypatch.context() as earlier:
        old = lambda made, given: {key: value for key, value in written(made, given).items() if key != "blocks"}  # noqa: E731
        earlier.setattr(engine.optimizer.sample_runs, "made_to_json", old)
        before = site.build(pipeline(records, FIND.replace("bad", "right")))
    seconds = [event.seconds for event in site.of(CandidateRated)]
    after = site.build(pipeline(records, FIND.replace("bad", "right")))
    again = site.build(pipeline(records, FIND.replace("bad", "right")))
    assert (before.reuse.calls_made, after.reuse.calls_made, again.reuse.calls_made) == (4, 0, 0)
    assert (after.reuse.outputs_made, after.reuse.outputs_reused) == (4, 0)
    assert (again.reuse.outputs_made, again.reuse.outputs_reused) == (0, 4)
    assert [event.seconds for event in site.of(CandidateRated)] == seconds


def test_a_pipeline_that_cannot_run_is_an_error(site, tmp_path, monkeypatch):
    rows = write_jsonl(tmp_path / "rows.jsonl", [])
    with toys(monkeypatch, better("one", "good")), pytest.raises(UsageError):
        site.build(pipeline(rows, FIND))


def test_who_proposes_may_be_another_model_than_the_one_that_the_user_chose_for_the_plans(site, records, monkeypatch):
    opened = []
    backend_of = site.backend_of
    site.backend_of = lambda name: opened.append(name) or backend_of(name)
    with toys(monkeypatch, better("one", "good")):
        site.build(
            pipeline(records, FIND), settings=RunSettings(model="small", parse=PLAIN, workers=1), agent_model="large"
        )
    assert set(opened) == {"small", "large"}
    assert site.of(BuildStarted)[0].model == "small"
