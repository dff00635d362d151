"""A child that a file has taken over answers what it likes: the parent reads and publishes nothing but its own."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.disk import sha256_of
from engine.documents import answers, pool, render
from engine.documents.codec import document_to_json
from engine.documents.drafts import ParsedFile
from engine.documents.ingest import ingest_folder
from engine.documents.options import ParseOptions
from engine.documents.parse import parse_file
from engine.documents.render import render_page
from engine.documents.report import ReportSpec, make_report
from engine.documents.unpacking import Share
from engine.errors import DocumentError
from models.errors import ModelError
from models.isolation import wire

FORGED = [sys.executable, str(Path(__file__).resolve().parents[1] / "fixtures" / "forged_child.py")]
OPTIONS = ParseOptions(ocr="never")
SHARE = Share(10_000, 3)


@pytest.fixture(autouse=True)
def _taken_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "child_command", lambda: FORGED)
    monkeypatch.setattr(render, "child_command", lambda: FORGED)


@pytest.fixture
def true_result(tmp_path: Path) -> dict[str, Any]:
    """What an honest child answers about a file of two lines called a.txt, but for its digest."""
    path = tmp_path / "true" / "a.txt"
    path.parent.mkdir()
    path.write_text("first\nsecond\n")
    parsed = parse_file(path, OPTIONS, scratch=tmp_path)
    assert parsed.document is not None
    document = document_to_json(parsed.document)
    return json.loads(json.dumps({"kind": "text", "document": document, "children": [], "failures": []}))


def parse(folder: Path, *, id: Any = None, share: Share = SHARE, **order: Any) -> ParsedFile:
    """Parse a file whose child answers as ordered."""
    path, scratch = folder / "a.txt", folder / "scratch"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    path.write_text(json.dumps(order))

    async def work() -> ParsedFile:
        async with pool.ParserPool(1, OPTIONS) as parsers:
            return await parsers.parse(path, name="a.txt", scratch=scratch, share=share, id=id)

    return asyncio.run(work())


def refused(folder: Path, **order: Any) -> str:
    with pytest.raises(DocumentError) as caught:
        parse(folder, **order)
    assert caught.value.reason == "crashed"
    return str(caught.value)


def changed(value: dict[str, Any], *where: Any, to: Any) -> str:
    value = json.loads(json.dumps(value))
    inner: Any = value
    for key in where[:-1]:
        inner = inner[key]
    inner[where[-1]] = to
    return json.dumps(value)


def test_an_honest_answer_is_taken(tmp_path: Path, true_result: dict[str, Any]) -> None:
    parsed = parse(
        tmp_path,
        result=changed(true_result, "children", to=[["b/c.txt", "children/000001.child"]]),
        files={"children/000001.child": "inside"},
    )
    assert parsed.document is not None
    assert [line.text for line in parsed.document.lines] == ["first", "second"]
    assert [(child.name, child.path.read_text()) for child in parsed.children] == [("b/c.txt", "inside")]


@pytest.mark.parametrize(
    "path",
    ["../key", "children/../../key", "/etc/passwd", "children/000001.child/../../key", "result.json", "children", ""],
)
def test_a_file_taken_out_lies_in_the_folder_of_such_files(
    tmp_path: Path, true_result: dict[str, Any], path: str
) -> None:
    (tmp_path / "key").write_text("secret")
    assert "lies at" in refused(tmp_path, result=changed(true_result, "children", to=[["b", path]]))


@pytest.mark.parametrize("name", ["../b", "/b", "b/../c", "a\0b", "C:/b", "", "x" * 301])
def test_a_file_taken_out_has_a_safe_name(tmp_path: Path, true_result: dict[str, Any], name: str) -> None:
    result = changed(true_result, "children", to=[[name, "children/000001.child"]])
    assert "is called" in refused(tmp_path, result=result, files={"children/000001.child": "inside"})


@pytest.mark.parametrize("name", ["children/000001.child", "children", "result.json"])
def test_links_are_not_followed(tmp_path: Path, true_result: dict[str, Any], name: str) -> None:
    (tmp_path / "keys").mkdir()
    for target in ("000001.child", "key"):
        (tmp_path / "keys" / target).write_text(json.dumps(true_result))
    target = tmp_path / "keys" if name == "children" else tmp_path / "keys" / "key"
    result = changed(true_result, "children", to=[["b", "children/000001.child"]])
    order = {} if name == "result.json" else {"result": result}
    assert "no plain file" in refused(tmp_path, **order, links={name: str(target)})


def test_a_link_that_comes_after_the_look_is_not_followed(
    tmp_path: Path, true_result: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The child still lives while its files are moved; here it puts a link in their place just before."""
    (tmp_path / "key").write_text("secret")
    move = shutil.move

    def late(source: Path, target: Path) -> Any:
        if Path(source).name == "result.json":
            Path(source).unlink()
            Path(source).symlink_to(tmp_path / "key")
        return move(source, target)

    monkeypatch.setattr("engine.documents.job.shutil.move", late)
    assert "no plain file" in refused(tmp_path, result=json.dumps(true_result))


@pytest.mark.parametrize(
    ("where", "to"),
    [
        (("kind",), 7),
        (("kind",), "../x"),
        (("document",), []),
        (("document", "id"), "../../x"),
        (("document", "filename"), "b.txt"),
        (("document", "kind"), "pdf"),
        (("document", "format"), 2),
        (("document", "size_bytes"), "many"),
        (("document", "size_bytes"), 10**40),
        (("document", "size_bytes"), True),
        (("document", "lines"), {}),
        (("document", "lines", 0), [1, "x"]),
        (("document", "lines", 0, 0), 2),
        (("document", "lines", 0, 0), 0),
        (("document", "lines", 0, 1), None),
        (("document", "lines", 0, 2), [1, 2, 3]),
        (("document", "lines", 0, 3), "seen"),
        (("document", "lines", 0, 4), "high"),
        (("document", "hidden"), [[1, "well"]]),
        (("document", "bold"), [[]]),
        (("document", "pages", 0, "lines"), [3, 1]),
        (("document", "pages", 0, "width"), None),
        (("document", "outline"), [[1, 2, 3]]),
        (("document", "warnings"), [1]),
        (("document", "metadata"), []),
        (("document", "metadata"), {"children": [{"name": "x", "id": "0" * 64}]}),
        (("document", "more"), 1),
        (("children"), [["b"]]),
        (("failures"), [{"name": "b", "reason": "x"}]),
        (("failures"), [{"name": "b", "reason": "X Y", "message": "", "advice": ""}]),
    ],
)
def test_a_result_of_another_form_is_refused(tmp_path: Path, true_result: dict[str, Any], where: Any, to: Any) -> None:
    where = (where,) if isinstance(where, str) else where
    assert "cannot be right" in refused(tmp_path, result=changed(true_result, *where, to=to))


@pytest.mark.parametrize(
    "result",
    ["", "[]", "{", "null", "\ud83d", '{"kind": ' + "[" * 100_000, '{"kind": ' + "1" * 5000 + "}"],
)
def test_a_result_that_is_no_object_is_refused(tmp_path: Path, result: str) -> None:
    assert "cannot be right" in refused(tmp_path, result=result.encode("ascii", "replace").decode())


def test_a_result_has_a_greatest_depth(tmp_path: Path, true_result: dict[str, Any]) -> None:
    nested: Any = 1
    for _ in range(answers.DEEPEST):
        nested = [nested]
    result = changed(true_result, "document", "metadata", to={"a": nested})
    assert f"more than {answers.DEEPEST} deep" in refused(tmp_path, result=result)


def test_a_result_has_a_greatest_size(
    tmp_path: Path, true_result: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    result = json.dumps(true_result)
    monkeypatch.setattr(answers, "LARGEST_RESULT", len(result) - 1)
    with pytest.raises(DocumentError) as caught:
        parse(tmp_path, result=result)
    assert caught.value.reason == "too_large"


def test_no_more_is_taken_out_than_is_allowed(tmp_path: Path, true_result: dict[str, Any]) -> None:
    names = [f"children/{number:06d}.child" for number in range(1, 5)]
    result = changed(true_result, "children", to=[[name[-5:], name] for name in names])
    many = {"result": result, "files": dict.fromkeys(names, "x")}
    assert "4 files of 4 bytes" in refused(tmp_path, **many)
    large = {**many, "files": dict.fromkeys(names, "x" * 3000), "share": Share(10_000, 4)}
    assert "4 files of 12000 bytes" in refused(tmp_path, **large)


def test_a_document_has_the_digest_of_its_file(tmp_path: Path, true_result: dict[str, Any]) -> None:
    """Else a file could take the place of another document of the case, whose digest it knows."""
    with pytest.raises(DocumentError, match="changed while it was read") as caught:
        parse(tmp_path, result=json.dumps(true_result), id="1" * 64)
    assert caught.value.reason == "unreadable"
    own = changed(true_result, "document", "id", to="1" * 64)
    assert parse(tmp_path, result=own, id="1" * 64).document is not None


def test_the_reading_of_a_folder_asks_for_the_digest(tmp_path: Path, true_result: dict[str, Any]) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.txt").write_text(json.dumps({"result": json.dumps(true_result)}))
    (folder / "b.txt").write_text(json.dumps({"lines": ["x" * 100_000]}))

    async def read() -> list[Any]:
        return [e async for e in ingest_folder([folder], known=lambda id: False, options=OPTIONS, workers=1)]

    failed = [(Path(e.path).name, e.sha256, e.reason) for e in asyncio.run(read()) if hasattr(e, "reason")]
    assert failed == [
        ("a.txt", sha256_of(folder / "a.txt"), "unreadable"),
        ("b.txt", sha256_of(folder / "b.txt"), "crashed"),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "x" * 100_000,
        "[]",
        "no JSON",
        "[" * 30_000,
        '{"pages": "many"}',
        '{"pages": -1}',
        '{"page": null, "done": true}',
        '{"error": 7}',
        '{"error": {"reason": "corrupt"}}',
        '{"error": {"reason": ["corrupt"], "message": "m"}}',
        '{"error": {"reason": "../x", "message": "m"}}',
        '{"error": {"reason": "corrupt", "message": 7}}',
        '{"error": {"reason": "corrupt", "message": "m", "advice": 7}}',
    ],
)
def test_a_line_of_another_form_ends_the_file_alone(tmp_path: Path, line: str) -> None:
    assert "cannot be right" in refused(tmp_path, lines=[line], result="{}")


def test_a_message_is_cut() -> None:
    with pytest.raises(DocumentError) as caught:
        answers.read_line(json.dumps({"error": {"reason": "corrupt", "message": "m" * 9000}}).encode())
    assert len(str(caught.value)) == answers.LONGEST_MESSAGE


@pytest.mark.parametrize("order", [{}, {"links": {"rows.jsonl": "/etc/passwd"}}])
def test_rows_of_a_data_file_are_a_plain_file(tmp_path: Path, order: dict[str, Any]) -> None:
    path = tmp_path / "a.xlsx"
    path.write_text(json.dumps(order))
    (tmp_path / "scratch").mkdir()

    async def work() -> None:
        async with pool.ParserPool(1, OPTIONS) as parsers:
            await parsers.rows(path, sheet=None, scratch=tmp_path / "scratch")

    with pytest.raises(DocumentError) as caught:
        asyncio.run(work())
    assert caught.value.reason == "crashed"


@pytest.mark.parametrize("line", ["7", '["", []]', '["", {"a": ' + "[" * 70 + "]" * 70 + "}]", "{"])
def test_a_row_of_a_data_file_is_an_object(tmp_path: Path, line: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(f'["", {{"a": 1}}]\n{line}\n')
    rows = answers.read_rows(path)
    assert next(rows) == ("", {"a": 1})
    with pytest.raises(DocumentError):
        next(rows)


@pytest.mark.parametrize("value", [None, {}, [1], "x", [{"a": 1}, None]])
def test_a_parsing_function_gives_objects(value: Any) -> None:
    with pytest.raises(DocumentError, match="no list of objects"):
        answers.rows_of(value)
    assert answers.rows_of([{"a": 1}]) == [{"a": 1}]


def draw(path: Path, out: Path) -> None:
    render_page(path, 1, boxes=[], out=out)


def report(path: Path, out: Path) -> None:
    make_report(ReportSpec(path.read_text(), "", ()), out)


@pytest.mark.parametrize(("work", "name"), [(draw, "page.png"), (report, "report.pdf")])
@pytest.mark.parametrize("order", ["link", "text", "nothing", "line"])
def test_a_picture_or_report_that_is_none_is_not_published(
    tmp_path: Path, work: Callable[[Path, Path], None], name: str, order: str
) -> None:
    (tmp_path / "key").write_text("secret")
    path, out = tmp_path / "a.pdf", tmp_path / "out"
    orders: dict[str, Any] = {
        "link": {"links": {name: str(tmp_path / "key")}},
        "text": {"files": {name: "<html>"}},
        "nothing": {},
        "line": {"lines": ["x" * 100_000]},
    }
    path.write_text(json.dumps(orders[order]))
    with pytest.raises(DocumentError) as caught:
        work(path, out)
    assert caught.value.reason == "crashed"
    assert not out.exists() and not out.is_symlink()


@pytest.mark.parametrize(
    "body",
    [
        [],
        {"text": "t"},
        {"value": 1, "text": 7},
        {"value": 1, "text": "t", "prompt_tokens": "many"},
        {"value": 1, "text": "t", "prompt_tokens": True},
        {"value": 1, "text": "t", "seconds": "long"},
        {"value": 1, "text": "t", "from_cache": 1},
        {"value": 1, "text": "t", "probabilities": []},
        {"value": 1, "text": "t", "probabilities": {"/a": "high"}},
        {"value": 1, "text": "t", "alternatives": {"/a": 1}},
        {"value": 1, "text": "t", "more": 1},
    ],
)
def test_a_reply_of_a_model_has_its_form(body: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        wire.reply_from(body)


def test_a_true_reply_is_read() -> None:
    body = {
        "value": {"a": 1},
        "text": "t",
        "seconds": 1,
        "probabilities": {"/a": 0.5},
        "alternatives": {"/a": {"x": 1}},
    }
    assert wire.reply_from(body).value == {"a": 1}


@pytest.mark.parametrize(
    "body",
    [
        [],
        {"types": "ModelError", "message": "m", "fields": {}},
        {"types": [7], "message": "m", "fields": {}},
        {"types": ["ModelError"], "message": "m", "fields": []},
        {"types": ["ModelError"], "message": "m", "fields": {"advice": 7}},
        {"types": ["ModelError"], "message": "m", "fields": {"advice": {}}},
        {"types": ["ModelError"], "message": "m", "fields": {"__class__": "x"}},
    ],
)
def test_an_error_of_a_model_has_its_form(body: Any) -> None:
    with pytest.raises((TypeError, ValueError, KeyError)):
        wire.error_from(body)
    assert isinstance(
        wire.error_from({"types": ["X", "ModelError"], "message": "m", "fields": {"advice": "a"}}), ModelError
    )
