"""A user's own measure: what may be given, what counts of what it returns, and what it decides in a build."""

from __future__ import annotations

import pytest
from scripted_build import Site, Toy, saying, toys
from scripted_run import PLAIN, pipeline, prompt_of, write_texts

from engine.errors import PipelineError, UsageError
from engine.executor.settings import RunSettings
from engine.optimizer.build_options import BuildOptions
from engine.optimizer.measuring import Measure

FIND = '  - {name: find, type: map, prompt: "bad {{ input.text }}", output: {schema: {found: string}}}\n'
SHARE = """
def evaluate(rows, results):
    texts = {row["text"] for row in rows}
    right = [row for row in results if row["found"] == "fair" and row["text"] in texts]
    return {"share": len(right) / len(rows), "count": len(right)}
"""
TRUSTED = RunSettings(parse=PLAIN, workers=1, trust_code=True)


@pytest.fixture
def site(tmp_path):
    """A rater that likes `good` best and has no say where there is a measure."""
    return Site(
        tmp_path,
        lambda request: {name: prompt_of(request).split()[0] for name in request.schema["properties"]},
        lambda rows: {"good": 4.0}.get(str(list(rows[-1].values())[-1]), 1.0) if rows and rows[-1] else 1.0,
    )


@pytest.fixture
def records(tmp_path):
    return write_texts(tmp_path / "in", {f"{n}.txt": f"Record {n}. " + "word " * 60 for n in range(8)})


def better(name, word):
    return Toy(name, "find", lambda nodes: [saying(nodes[-1], word + " {{ input.text }}")])


def built(site, records, monkeypatch, measure, settings=TRUSTED):
    with toys(monkeypatch, better("one", "good"), better("two", "fair")):
        return site.build(pipeline(records, FIND), depth=0, measure=measure, settings=settings)


def test_whole_plans_are_rated_by_the_users_own_function(site, records, monkeypatch):
    result = built(site, records, monkeypatch, Measure(source=SHARE, metric_key="share"))
    assert result.chosen.directive == "two"
    assert (result.own.score, max(point.score for point in result.points)) == (1.0, 4.0)
    assert built(site, records, monkeypatch, None).chosen.directive == "one"


KEPT = '  - {name: kept, type: filter, condition: input.found != ""}\n'


def test_it_is_called_though_code_follows_what_is_rewritten_and_the_search_takes_all_its_time(
    site, records, monkeypatch
):
    site.call_seconds = 1.0
    measure = Measure(source=SHARE, metric_key="share")
    with toys(monkeypatch, *(better(f"t{n}", f"fair {n}") for n in range(20))):
        result = site.build(pipeline(records, FIND + KEPT), depth=0, minutes=1, measure=measure, settings=TRUSTED)
    (rating,) = result.finals.own.ratings.values()
    assert rating.grounds == (("share", 0.0),)
    assert (result.own.score, result.points[0].score) == (1.0, 4.0)


def test_without_trust_nothing_of_it_runs():
    with pytest.raises(UsageError, match="not been trusted") as caught:
        BuildOptions(measure=Measure(source=SHARE, metric_key="share"))
    assert "--trust-code" in caught.value.advice


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return open('/etc/hostname').read()", "the evaluation failed"),
        ("return 1 / 0", "the evaluation failed"),
        ("return {'f1': 0.5, 'recall': 1}", "returned no 'share'"),
        ("return 7", "returned 7"),
    ],
)
def test_what_goes_wrong_in_it_ends_the_build_with_its_reason(site, records, monkeypatch, body, message):
    source = f"def evaluate(rows, results):\n    {body}\n"
    with pytest.raises(PipelineError, match=message):
        built(site, records, monkeypatch, Measure(source=source, metric_key="share"))


@pytest.mark.parametrize(
    ("returned", "key", "value"),
    [(0.5, "", 0.5), ({"f1": 1}, "", 1.0), ({"f1": 0.25, "n": 9}, "f1", 0.25), (0, "f1", 0.0)],
)
def test_the_number_that_counts(returned, key, value):
    assert Measure(source=SHARE, metric_key=key).value_of({"value": returned}) == value


@pytest.mark.parametrize("returned", [None, True, "0.5", -0.1, 1.01, float("nan"), 10**400, {}, {"f1": 1, "n": 2}])
def test_what_is_no_number_from_0_to_1_is_refused(returned):
    with pytest.raises(PipelineError):
        Measure(source=SHARE).value_of({"value": returned})


def test_a_file_that_an_editor_of_windows_has_marked_is_read(tmp_path):
    file = tmp_path / "measure.py"
    file.write_text(SHARE, encoding="utf-8-sig")
    assert Measure.read(file) == Measure(source=SHARE)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def evaluate(rows, results) return 1", "no Python"),
        ("def score(rows):\n    return 1\n", "no function evaluate"),
    ],
)
def test_code_that_cannot_be_right_is_refused_before_anything_is_read(tmp_path, source, message):
    file = tmp_path / "measure.py"
    file.write_text(source, encoding="utf-8")
    with pytest.raises(UsageError, match=message):
        Measure.read(file)
    with pytest.raises(UsageError, match="cannot be read"):
        Measure.read(tmp_path / "none.py")
