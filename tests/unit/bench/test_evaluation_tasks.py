"""The tasks of the paper: their splits, what a pipeline is given of the documents, and the pipelines as written."""

import json
from pathlib import Path

import pytest
from evaluation.task import Document, Result, Splits, Task
from evaluation.tasks import FOLDER, load_task, task_names

from engine.errors import UsageError
from engine.language.checks import check
from engine.worker.jobs import load_with_inputs

TASKS = ("casefiles", "contracts", "police", "reactions", "reviews")
ROOT = Path(__file__).parents[3]


def ready(name: str) -> Task:
    task = load_task(name)
    if not all((task.data / file).exists() for file in task.files):
        pytest.skip(f"the shared data ({task.files[0]}) is not beside the repository")
    return task


def test_the_five_tasks_of_the_paper_are_there() -> None:
    assert task_names() == TASKS


def test_another_name_lists_them(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no evaluation task 'contract'") as told:
        load_task("contract")
    assert "contracts" in told.value.advice
    with pytest.raises(UsageError) as told:
        load_task("contracts", tmp_path)
    assert "source checkout" in told.value.advice


def test_no_document_is_seen_and_scored() -> None:
    with pytest.raises(ValueError, match=r"\[2\] are in both"):
        Splits(sample=(1, 2), dev=(2, 3))


def test_fewer_documents_of_a_split_are_its_first_ones() -> None:
    task = ready("police")
    assert [d.id for d in task.fewer("dev", 3).documents("dev")] == [d.id for d in task.documents("dev")][:3]
    assert task.fewer("dev", 3).documents("sample") == task.documents("sample")
    assert len(task.fewer("sample", 2).documents("sample")) == 2
    assert task.fewer("dev", 1000).documents("dev") == task.documents("dev")


@pytest.mark.parametrize("name", TASKS)
def test_splits_share_no_document(name: str) -> None:
    task = ready(name)
    sample, dev = task.documents("sample"), task.documents("dev")
    assert sample and dev
    assert not {d.id for d in sample} & {d.id for d in dev}
    assert not {json.dumps(d.values) for d in sample if d.values} & {json.dumps(d.values) for d in dev}


@pytest.mark.parametrize("name", TASKS)
def test_a_pipeline_is_given_documents_without_their_gold(name: str, tmp_path: Path) -> None:
    task = ready(name)
    inputs = task.write_inputs("sample", tmp_path)
    kept, path = inputs[0].split("=", 1)
    assert kept == task.dataset
    sample = task.documents("sample")
    if Path(path).is_dir():
        assert {p.name for p in Path(path).iterdir()} == {d.id for d in sample}
        return
    rows = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]
    assert [row["id"] for row in rows] == [d.id for d in sample]
    assert {key for row in rows for key in row} <= {"id", "text", "reviews"}


@pytest.mark.parametrize("name", TASKS)
def test_the_pipeline_as_written_passes_every_static_check(name: str, tmp_path: Path) -> None:
    task = ready(name)
    loaded = load_with_inputs(task.pipeline, task.write_inputs("sample", tmp_path))
    assert loaded.warnings == ()
    fields = {task.dataset: list(task.documents("sample")[0].values)} if task.dataset != "records" else {}
    fields |= {table: ["reaction"] for table in task.tables}
    assert check(loaded.plan, source_fields=fields or None, positions=loaded.positions) == []


@pytest.mark.parametrize("name", TASKS)
def test_gold_itself_scores_best_and_nothing_worst(name: str) -> None:
    """What a perfect table would say has the best main figure; an empty one has the worst."""
    task = ready(name)
    documents = task.documents("dev")
    best, none = task.score(PERFECT[name](documents), documents), task.score([], documents)
    ideal = 0.0 if task.main_metric in task.lower_is_better else 1.0
    assert best[task.main_metric] == pytest.approx(ideal, abs=1e-9)
    assert none[task.main_metric] == 1.0 - ideal


def test_a_type_that_a_contract_has_no_span_of_is_no_clause() -> None:
    task = ready("contracts")
    documents = task.documents("dev")
    clauses = [{"clause_type": kind, "text_span": None} for kind in ("Parties", "Insurance")]
    results = [Result({"clauses": clauses}, frozenset({d.id})) for d in documents]
    assert task.score(results, documents)["clauses"] == 0.0


def contracts(documents: tuple[Document, ...]) -> list[Result]:
    def clauses(document: Document) -> list[dict[str, str]]:
        return [{"clause_type": kind, "text_span": text} for kind, text in document.gold[0]]

    return [Result({"clauses": clauses(d)}, frozenset({d.id})) for d in documents]


def reviews(documents: tuple[Document, ...]) -> list[Result]:
    def picked(document: Document, positive: bool) -> list[dict[str, str]]:
        ids = [i for i, review in document.gold.items() if review.positive == positive]
        return [{"review_id": i} for i in sorted(ids, key=lambda i: document.gold[i].order)]

    return [
        Result({"positive_reviews": picked(d, True), "negative_reviews": picked(d, False)}, frozenset({d.id}))
        for d in documents
    ]


def casefiles(documents: tuple[Document, ...]) -> list[Result]:
    kinds: dict[str, list[Document]] = {}
    for document in documents:
        kinds.setdefault(" ".join(document.gold.kind.replace("/", " ").split()), []).append(document)
    return [
        Result({"event_type": kind, "places": [d.gold.place for d in found]}, frozenset(d.id for d in found))
        for kind, found in kinds.items()
    ]


def reactions(documents: tuple[Document, ...]) -> list[Result]:
    return [Result({"reactions": [" ".join(term) for term in d.gold]}, frozenset({d.id})) for d in documents]


def police(documents: tuple[Document, ...]) -> list[Result]:
    names = {officer["id"]: officer["name"] for officer in documents[0].gold.case.officers}
    return [
        Result({"officer": names[officer]}, frozenset({record}))
        for document in documents
        for record, officer in document.gold.pairs
    ]


PERFECT = {
    "contracts": contracts,
    "reviews": reviews,
    "casefiles": casefiles,
    "reactions": reactions,
    "police": police,
}


def test_missing_data_say_what_is_missing_and_where_it_comes_from(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no cuad/contracts\.jsonl in") as told:
        load_task("contracts").documents("dev", tmp_path)
    assert "--data FOLDER" in told.value.advice
    assert "atticusprojectai.org" in told.value.advice


def test_other_data_are_said_to_be_other_data(tmp_path: Path) -> None:
    (tmp_path / "cuad").mkdir()
    (tmp_path / "cuad" / "contracts.jsonl").write_text('{"id": "a"}\n', encoding="utf-8")
    with pytest.raises(UsageError, match="other data than this task reads: KeyError: 'text'"):
        load_task("contracts").documents("dev", tmp_path)


def test_data_of_the_same_form_take_the_place_of_ours(tmp_path: Path) -> None:
    (tmp_path / "cuad").mkdir()
    record = {"text": "t", "gold": {"Term": ["one year"]}, "answers": {"Parties": 'Acme Inc. ("Acme"); Bolt'}}
    lines = [json.dumps({"id": f"c{n}", **record}) for n in range(4)]
    (tmp_path / "cuad" / "contracts.jsonl").write_text("\n".join(lines), encoding="utf-8")
    task = load_task("contracts")
    assert [d.id for d in task.documents("sample", tmp_path)] == ["c0", "c3"]
    [document] = task.documents("dev", tmp_path)
    assert document.id == "c1"
    assert document.gold == ([("Term", "one year")], ["Acme Inc.", "Bolt"])


def test_the_criteria_of_the_paper_are_beside_the_police_task() -> None:
    criteria = load_task("police").criteria
    assert criteria is not None and criteria.is_file()
    assert criteria.parent == FOLDER
