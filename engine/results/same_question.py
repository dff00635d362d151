"""Which runs of a case asked the same question, of whatever documents."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from functools import lru_cache

from ruamel.yaml import YAML

from engine.results.shown import PairKind
from storage.runs import Runs, StoredRun

KINDS: tuple[PairKind, ...] = ("same_as", "keep_apart")
"""Keys under which a pipeline holds decisions about names."""
_MARKS = ("tags", "starred", "words", "documents")
_SAID = ("clarified", "clarified_for")
_KEPT = 256


def runs_of_question(runs: Runs, run_id: str) -> list[StoredRun]:
    """Return the finished runs of the question that a run asks, in the order of their start; raises NotInCase."""
    wanted = question_text(runs.get(run_id).pipeline_yaml)
    finished = (run for run in runs.all() if run.status == "finished")
    return [run for run in finished if question_text(run.pipeline_yaml) == wanted]


@lru_cache(_KEPT)
def question_text(pipeline: str) -> str:
    """Write a pipeline without what does not change its question: the choice of documents, and later decisions.

    A person decides about pairs of names, and about what questions mean (`clarified`, `clarified_for`). One `question`
    is a list of one, for it becomes that when she says what it means.
    """
    root = YAML(typ="safe").load(io.StringIO(pipeline))
    if not isinstance(root, Mapping):
        return pipeline
    for dataset in root.get("datasets", {}).values():
        for mark in _MARKS:
            dataset.pop(mark, None)
    for operation in root.get("operations", ()):
        for kind in KINDS:
            operation.pop(kind, None)
        if "question" in operation:
            operation["questions"] = [{"question": operation.pop("question")}]
        for asked in operation.get("questions", ()):
            for said in _SAID:
                asked.pop(said, None)
    return json.dumps(root, sort_keys=True, default=str)
