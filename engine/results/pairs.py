"""Decisions of a person about names, written into a pipeline as pairs of `same_as` and `keep_apart`.

The text of the pipeline is kept but for these pairs: comments and layout are its author's.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.nodes import MappingNode, Node, SequenceNode

from engine.disk import questions_folder
from engine.errors import PipelineError, UsageError
from engine.language.writer import to_yaml
from engine.loader import load_pipeline, parse_pipeline
from engine.results.same_question import KINDS, question_text
from engine.results.shown import NamePair, PairKind
from storage.case import Case
from storage.export.atomic import replacing


def pipeline_of(case: Case, run_id: str) -> Path:
    """Find the pipeline beside the case that a run was made from; write it if there is none.

    Later decisions of a person make no difference (pairs of names, what questions mean: `clarified`), nor does the
    choice of documents of the case, by mark, by words or by name.

    Raises ExportError or DiskFull when it cannot be written.
    """
    text = case.runs.get(run_id).pipeline_yaml
    folder = questions_folder(case.path)
    wanted = question_text(text)
    for file in sorted(folder.glob("*.yaml")) if folder.is_dir() else ():
        try:
            plan = load_pipeline(file).plan
        except PipelineError:
            continue  # half-written by its author: it is no pipeline that has run
        if question_text(to_yaml(plan)) == wanted:
            return file
    folder.mkdir(exist_ok=True)
    file = _free(folder, f"run {run_id}")
    _write(file, text)
    return file


def write_pairs(file: Path, operator: str, kind: PairKind, pairs: Iterable[NamePair]) -> None:
    """Add pairs to an operator of a pipeline file, and take them out of the other kind.

    Raises UsageError for an operator that is not there, PipelineError when the file is none, ExportError or DiskFull.
    """
    text = file.read_text(encoding="utf-8-sig")
    other = KINDS[1 - KINDS.index(kind)]
    wanted = list(pairs)
    held = _pairs(text, operator, kind)
    new = [pair for pair in wanted if not _has(held, pair)]
    against = _pairs(text, operator, other)
    kept = [pair for pair in against if not _has(wanted, pair)]
    if new:
        text = _with_pairs(text, operator, kind, [*held, *new], file)
    if kept != against:
        text = _with_pairs(text, operator, other, kept, file)
    parse_pipeline(text, file=str(file), directory=file.parent)
    _write(file, text)


def _has(pairs: Iterable[NamePair], pair: NamePair) -> bool:
    return any(set(pair) == set(other) for other in pairs)


def _pairs(text: str, operator: str, kind: PairKind) -> list[NamePair]:
    root = YAML(typ="safe").load(io.StringIO(text))
    for operation in root.get("operations", ()):
        if operation.get("name") == operator:
            return [(str(left), str(right)) for left, right in operation.get(kind) or ()]
    return []


def _with_pairs(text: str, operator: str, kind: PairKind, pairs: Sequence[NamePair], file: Path) -> str:
    """Write the pairs in place of those that are there, or behind the operator's name."""
    node = _operation(YAML().compose(io.StringIO(text)), operator)
    if node is None:
        raise UsageError(f"{file.name} has no operator {operator!r}", advice="Choose the pipeline of this run.")
    written = "[" + ", ".join(json.dumps(list(pair), ensure_ascii=False) for pair in pairs) + "]"
    for key, value in node.value:
        if key.value == kind:
            # A block sequence ends where the next key begins: what white space stood there is put back.
            end = value.start_mark.index + len(text[value.start_mark.index : value.end_mark.index].rstrip())
            start = key.end_mark.index
            return f"{text[:start]}: {written}{text[end:]}"
    name = next(value for key, value in node.value if key.value == "name")
    first = node.value[0][0]
    gap = ", " if node.flow_style else "\n" + " " * first.start_mark.column
    return f"{text[: name.end_mark.index]}{gap}{kind}: {written}{text[name.end_mark.index :]}"


def _operation(root: Node | None, operator: str) -> MappingNode | None:
    operations = _under(root, "operations")
    for node in operations.value if isinstance(operations, SequenceNode) else ():
        named = _under(node, "name")
        if isinstance(node, MappingNode) and named is not None and named.value == operator:
            return node
    return None


def _under(node: Node | None, key: str) -> Node | None:
    if not isinstance(node, MappingNode):
        return None
    return next((value for name, value in node.value if name.value == key), None)


def _free(folder: Path, stem: str) -> Path:
    names = (folder / f"{stem}{f' ({number})' if number else ''}.yaml" for number in range(1000))
    return next(name for name in names if not name.exists())


def _write(file: Path, text: str) -> None:
    with replacing(file) as path:
        path.write_text(text, encoding="utf-8")
