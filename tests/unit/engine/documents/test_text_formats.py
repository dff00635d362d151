from __future__ import annotations

from pathlib import Path

import pytest

from engine.documents.encoding import decode
from engine.documents.options import ParseOptions
from engine.documents.parse import parse_file
from engine.documents.records import read_rows
from engine.documents.web import visible_text
from engine.errors import DocumentError


def lines_of(path: Path) -> list[str]:
    document = parse_file(path, ParseOptions(), scratch=path.parent).document
    assert document is not None
    assert document.text == "\n".join(line.text for line in document.lines)
    return [line.text for line in document.lines]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"])
def test_encodings(encoding: str) -> None:
    text = "Ärger über die Straße – und nochmals Ärger, größer als zuvor gewöhnlich möglich.\n" * 5
    assert decode(text.encode(encoding))[0] == text


def test_undecodable_bytes_are_reported() -> None:
    _, _, warnings = decode(b"\xef\xbb\xbfabc\xff")
    assert warnings == ["1 characters could not be decoded as utf-8-sig"]


def test_text_keeps_its_line_numbers(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\r\n\r\nthree\nfour")
    assert lines_of(path) == ["one", "", "three", "four"]


def test_html_shows_what_a_reader_sees() -> None:
    page = """<html><head><title>T</title><style>p{}</style></head><body><!-- no --><script>no()</script>
    <h1>Head</h1><p>One <b>bold</b>
    word<br>next</p><div hidden>no</div><p style="display: none">no</p>
    <table><tr><td>a</td><td><p>b</p></td></tr><tr><td>c</td><td>d</td></tr></table><pre>x
y</pre>tail</body></html>"""
    assert visible_text(page).splitlines() == ["Head", "One bold word", "next", "a | b", "c | d", "x", "y", "tail"]


def test_csv_rows_name_every_cell(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('name;name;\n"Smith; J";x;1;extra\nDoe\n', encoding="utf-8")
    assert list(read_rows(path)) == [
        {"name": "Smith; J", "name_2": "x", "column_3": "1", "column_4": "extra"},
        {"name": "Doe", "name_2": "", "column_3": "", "column_4": ""},
    ]


def test_csv_as_document_has_one_line_per_record(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('name,note\nDoe,"two\nlines"\n', encoding="utf-8")
    assert lines_of(path) == ["name: Doe; note: two lines"]


def test_json_and_jsonl_rows(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('[{"a": 1}, 2]', encoding="utf-8")
    (tmp_path / "b.jsonl").write_text('{"a": "x\u2028y"}\n\n{"b": [1]}\n', encoding="utf-8")
    assert list(read_rows(tmp_path / "a.json")) == [{"a": 1}, {"value": 2}]
    assert list(read_rows(tmp_path / "b.jsonl")) == [{"a": "x\u2028y"}, {"b": [1]}]


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("a.jsonl", '{"a": 1}\n{"a": }\n', "line 2, column 7"),
        ("a.json", "[1,\n2", "line 2, column 2"),
        ("a.csv", 'a\n"open\n', "line 2"),
    ],
)
def test_broken_rows_name_the_place(tmp_path: Path, name: str, text: str, place: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DocumentError, match=place) as caught:
        list(read_rows(path))
    assert caught.value.reason == "corrupt"


def test_missing_and_empty_row_files(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(" \n")
    with pytest.raises(DocumentError) as caught:
        list(read_rows(tmp_path / "a.csv"))
    assert caught.value.reason == "empty"
    with pytest.raises(DocumentError) as caught:
        list(read_rows(tmp_path / "none.csv"))
    assert caught.value.reason == "unreadable"


def test_layout_tables_keep_a_line_per_block() -> None:
    page = "<table><tr><td><div>One</div><div>Two</div></td></tr></table>"
    assert visible_text(page).splitlines() == ["One", "Two"]


def test_unknown_options_are_refused() -> None:
    assert ParseOptions.from_json(ParseOptions(threads=1).to_json()) == ParseOptions(threads=1)
    with pytest.raises(ValueError, match="colour"):
        ParseOptions.from_json({"colour": 1})
