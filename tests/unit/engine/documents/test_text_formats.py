from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from engine.documents.encoding import decode, decode_declared, encoding_of
from engine.documents.options import ParseOptions
from engine.documents.parse import parse_file
from engine.documents.records import read_rows
from engine.documents.web import html_lines, parse_html, visible_text
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


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1252", "nombre;ciudad\nJosé Muñoz;Málaga\nPeña, María;Logroño\n"),
        ("cp1252", "id,name\n1,Jose Muñoz\n"),
        ("cp1252", "id;name\n1;Jürgen Groß\n"),
        ("cp1252", "Le témoin a déclaré être arrivé à l'hôtel vers onze heures; ça n'a pas été vérifié.\n"),
        ("cp1252", "Officer Peña said “stop” – he didn’t.\n"),
        ("cp1252", "O’Brien"),
        ("cp1252", "The café was closed. Cost: £500 or €600 for 5½ m³, ¿qué? 2ª\n"),
        ("cp1252", "Åke Öberg bodde på Ängsvägen i Malmö.\n"),
        ("cp1252", "João não é irmão de Conceição.\n"),
        ("cp1252", "Søren, Bjørn, Hélène, Núñez, Müller and Šešelj\n"),
        ("cp1250", "Został zatrzymany przez policję w Łodzi, gdzie mieszkał.\n"),
        ("cp1250", "imię;miasto\nŁukasz;Łódź\nMałgorzata;Gdańsk\n"),
        ("cp1250", "jméno;město\nJiří Dvořák;Plzeň\nTomáš Novák;Kolín\n"),
        ("cp1250", "A rendőr megállította az autót, és elővette a füzetét; később működött.\n"),
        ("cp1250", "Poliţistul a oprit maşina şi a vorbit cu şoferul în Bucureşti.\n"),
        ("cp1254", "Polis memuru aracı durdurdu ve şoförle konuştu; yağmur yağıyordu.\n"),
        ("cp1251", "Привет, как дела? Это текст на русском языке.\n"),
        ("cp1253", "Καλημέρα, αυτό είναι ένα κείμενο στα ελληνικά και η αστυνομία.\n"),
        ("cp932", "名前,都市\n田中,東京\nテスト,アイウエオカキクケコ\n"),
        ("gb18030", "这是中文文本，警察在街上拦下了汽车。\n"),
    ],
)
def test_an_encoding_is_told_by_the_words_it_makes(tmp_path: Path, encoding: str, text: str) -> None:
    assert decode(text.encode(encoding)) == (
        text,
        encoding,
        [f"the encoding was guessed: {encoding}"],
    )
    path = tmp_path / "a.txt"
    path.write_bytes(text.encode(encoding))
    assert encoding_of(path) == encoding


def test_letters_far_behind_the_beginning_tell_the_encoding(tmp_path: Path) -> None:
    data = b"id,name\n" + b"1,John Smith\n" * 50_000 + "2,José Muñoz\n".encode("cp1252")
    path = tmp_path / "a.csv"
    path.write_bytes(data)
    assert decode(data)[1] == encoding_of(path) == "cp1252"
    assert list(read_rows(path))[-1] == {"id": "2", "name": "José Muñoz"}


def test_undecodable_bytes_are_reported() -> None:
    _, _, warnings = decode(b"\xef\xbb\xbfabc\xff")
    assert warnings == ["1 character could not be decoded as utf-8-sig"]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("Ärger über Öl, größer\n".encode() * 20 + b"caf\xe9\n", "Ärger über Öl, größer\n" * 20 + "caf\ufffd\n"),
        ("Привет, как дела?\n".encode() + b"\xff\n", "Привет, как дела?\n\ufffd\n"),
    ],
)
def test_a_stray_byte_leaves_the_rest_of_a_utf8_file_as_it_is(tmp_path: Path, data: bytes, text: str) -> None:
    told = ["the encoding was guessed: utf-8", "1 character could not be decoded as utf-8"]
    assert decode(data) == (text, "utf-8", told)
    (tmp_path / "a.txt").write_bytes(data)
    assert encoding_of(tmp_path / "a.txt") == "utf-8"


def test_a_letter_cut_at_the_end_is_no_sign_against_utf8() -> None:
    assert decode("größer".encode()[:5])[:2] == ("grö\ufffd", "utf-8")


@pytest.mark.parametrize(
    ("declared", "encoding", "text"),
    [
        ("ISO-8859-1", "cp1252", "50 € – „quoted“"),
        ("latin1", "latin-1", "Ärger"),
        ("ISO-8859-9", "cp1254", "50 € – Işık"),
    ],
)
def test_html_that_declares_iso_8859_is_read_as_browsers_do(
    tmp_path: Path, declared: str, encoding: str, text: str
) -> None:
    path = tmp_path / "a.html"
    path.write_bytes(f'<html><head><meta charset="{declared}"></head><body>{text}</body></html>'.encode(encoding))
    assert lines_of(path) == [text]


@pytest.mark.parametrize("declared", ["UTF-16", "utf-16le", "utf-32"])
@pytest.mark.parametrize("text", ["Plain letters", "Größe 44"])
def test_html_that_is_read_byte_by_byte_is_not_in_the_wide_encoding_it_declares(
    tmp_path: Path, declared: str, text: str
) -> None:
    data = f'<html><head><meta charset="{declared}"></head><body>{text}</body></html>'.encode()
    path = tmp_path / "a.html"
    path.write_bytes(data + b" " * (-len(data) % 4))
    assert lines_of(path) == [text]


def test_bytes_that_windows_has_not_stay_those_of_iso_8859() -> None:
    assert decode_declared(b"\x81\x80", "iso-8859-1") == "\x81\x80"


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


def test_raised_digits_of_html_are_no_part_of_the_number_before_them() -> None:
    page = "<p>$120<sup>1</sup> on May 3<sup>rd</sup>, 2019<sup><a href='#n'>2</a><!--3--></sup>, 7<sup>1</sup>/2</p>"
    assert visible_text(page) == "$120¹ on May 3rd, 2019², 7¹/2"


@pytest.mark.parametrize(
    ("html", "lines"),
    [
        ("<p>Paid <s>$120</s> $99</p>", ["Paid $99", "[struck through] $120"]),
        ('<p>He <span style="text-decoration: line-through red">did</span> <del>and</del> did not</p>',
         ["He did not", "[struck through] did and"]),
        ("<table><tr><td>a<td><strike>b</strike><td>c</table>", ["a | | c", "[struck through] b"]),
        ("<p><s>gone <span hidden>unseen</span></s></p>", ["[struck through] gone", "unseen"]),
    ],
)  # fmt: skip
def test_what_is_struck_through_in_html_stands_apart(html: str, lines: list[str]) -> None:
    assert [line.text for line in html_lines(html)] == lines


def test_html_forms_say_what_is_filled_in() -> None:
    page = """<form><p>Badge: <input value="4417">, seen <input type="date" value="2021-03-05"></p>
    <p><input type="checkbox" checked>Force <input type="CHECKBOX">Arrest</p>
    <p>Unit <input type=radio name=u>A<input type=radio name=u checked>B</p>
    <p>Finding: <select><option>open</option><option selected>not sustained</option><option>void</option></select></p>
    <p>Rank: <select><option>Sergeant<option>Captain</select></p>
    <p>Charges: <select multiple><option selected>one</option><option>two</option><option selected>three</option>
    </select></p><p>None: <select size="3"><option>a</option></select></p>
    <input type="hidden" value="token"><input type="password" value="secret"><input list="x">
    <datalist id="x"><option>offered</option></datalist><p><textarea>He ran.</textarea></p></form>"""
    assert visible_text(page).splitlines() == [
        "Badge: 4417 , seen 2021-03-05",
        "[x] Force [ ] Arrest",
        "Unit [ ] A [x] B",
        "Finding: not sustained",
        "Rank: Sergeant",
        "Charges: one, three",
        "None:",
        "He ran.",
    ]


def test_a_hidden_field_of_an_html_form_is_marked() -> None:
    lines = html_lines('<p>Paid <input style="display:none" value="off the books"></p>')
    assert [(line.text, line.hidden) for line in lines] == [("Paid", None), ("off the books", "invisible")]


def test_characters_without_a_width_do_not_cut_words_of_html() -> None:
    page = "<p>Poli&shy;zei\u200bwache \u2060Nord\ufeff</p><p>\u200b</p><p>می\u200cخواهم</p>"
    assert visible_text(page).splitlines() == ["Polizeiwache Nord", "می\u200cخواهم"]


def test_empty_cells_of_html_tables_keep_their_place() -> None:
    page = """<table><tr><td>Name</td><td>Badge</td><td>Rank</td></tr>
    <tr><td>Gomes</td><td></td><td>Sergeant</td></tr><tr><td> </td><td>17</td><td>Captain</td></tr>
    <tr><td></td><td></td><td>Unknown</td></tr></table>
    <table><tr><td></td><td>A letter in the margins of a table.</td><td></td></tr></table>"""
    lines = ["Name | Badge | Rank", "Gomes | | Sergeant", "| 17 | Captain", "| | Unknown"]
    assert visible_text(page).splitlines() == [*lines, "A letter in the margins of a table."]


def test_cells_of_html_tables_stay_in_their_columns_beside_one_that_reaches_down() -> None:
    page = """<table><tr><th>Officer<th>Month<th>Days<th>Note</tr>
    <tr><td rowspan="3">Gomes<td>May<td rowspan="2">5<td>first</tr>
    <tr><td>June<td>second</tr><tr><td>July<td>7<td>third</tr>
    <tr><td>Lee<td>May<td>2<td>x</tr></table>"""
    assert visible_text(page).splitlines() == [
        "Officer | Month | Days | Note",
        "Gomes | May | 5 | first",
        *("| June | | second", "| July | 7 | third", "Lee | May | 2 | x"),
    ]


@pytest.mark.parametrize(
    ("body", "warnings"),
    [
        ("<p>a</p><img src=a><img src=b><img width=1 height=1>", ["2 pictures were not read"]),
        ("<p>a</p><svg><text>Sums</text></svg><svg><path d='M0'/></svg>", ["1 picture was not read"]),
        (
            "<iframe src='a.html'></iframe><iframe width=0></iframe>",
            [
                "1 framed page was not read",
                "no text was found; open it in a browser, and print what is shown to a PDF",
            ],
        ),
    ],
)
def test_html_names_what_is_not_read_of_it(body: str, warnings: list[str]) -> None:
    assert parse_html(body.encode()).warnings == warnings


def test_a_key_that_stands_twice_in_a_json_document_loses_no_value(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"a": 1, "b": {"c": 2, "c": 3}, "a": 4}')
    assert lines_of(path) == ['a: 1; b: {"c": 2, "c_2": 3}; a_2: 4']


def test_half_of_a_pair_of_utf16_in_json_becomes_a_character_that_can_be_stored(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(r'[{"a": "x \ud83d y", "b": ["\ud83d\ude00", {"k\ude00": 1}]}]')
    assert list(read_rows(path)) == [{"a": "x \ufffd y", "b": ["\U0001f600", {"k\ufffd": 1}]}]
    assert lines_of(path) == ['a: x \ufffd y; b: ["\U0001f600", {"k\ufffd": 1}]']


def test_a_mail_in_utf7_with_half_of_a_pair_can_be_stored(tmp_path: Path) -> None:
    path = tmp_path / "a.eml"
    path.write_bytes(b"From: a@x.org\nContent-Type: text/plain; charset=utf-7\n\nHi +2D0- there\n")
    assert lines_of(path) == ["From: a@x.org", "", "Hi \ufffd there"]


def test_csv_rows_name_every_cell(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('name;name;\n"Smith; J";x;1;extra\nDoe\n', encoding="utf-8")
    assert list(read_rows(path)) == [
        {"name": "Smith; J", "name_2": "x", "column_3": "1", "column_4": "extra"},
        {"name": "Doe", "name_2": "", "column_3": "", "column_4": ""},
    ]


@pytest.mark.parametrize(
    ("name", "text", "rows"),
    [
        (
            "a.csv",
            'complaint\nOfficer left; he came back\n"He said: no, never"\n',
            [{"complaint": "Officer left; he came back"}, {"complaint": "He said: no, never"}],
        ),
        ("a.csv", '\n"a;\nb",c\n1,2\n', [{"a;\nb": "1", "c": "2"}]),
        ("a.csv", '"a,b";c\n1;2\n', [{"a,b": "1", "c": "2"}]),
        (
            "a.tsv",
            "Name (Last, First)\tBadge\nHarmon, D.\t4417\n",
            [{"Name (Last, First)": "Harmon, D.", "Badge": "4417"}],
        ),
        ("a.tsv", "name,badge\nHarmon,4417\n", [{"name": "Harmon", "badge": "4417"}]),
        ("a.csv", "a,column_3\n1,2,3\n", [{"a": "1", "column_3": "2", "column_3_2": "3"}]),
        ("a.csv", "sep=;\na,b;c\n1;2\n", [{"a,b": "1", "c": "2"}]),
        ("a.csv", '\ufeff"SEP=|"\r\na,b|c,d\r\n1|2\r\n', [{"a,b": "1", "c,d": "2"}]),
        ("a.csv", "sep=\t\nname;x\tb\n1\t2\n", [{"name;x": "1", "b": "2"}]),
        ("a.csv", "sep=5,b\n1,2\n", [{"sep=5": "1", "b": "2"}]),
        ("a.csv", "id,state (open|shut|new)\n1,open\n", [{"id": "1", "state (open|shut|new)": "open"}]),
        ("a.csv", "Name;Sum (EUR, net, paid)\nA;1,5\n", [{"Name": "A", "Sum (EUR, net, paid)": "1,5"}]),
    ],
)
def test_the_header_tells_what_separates_columns(tmp_path: Path, name: str, text: str, rows: list) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert list(read_rows(path)) == rows


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
        ("a.csv", 'sep=,\na\n"open\n', "line 3"),
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


def test_options_are_read_back() -> None:
    options = ParseOptions(threads=1, pages=(2, 3))
    assert ParseOptions.from_json(json.loads(json.dumps(asdict(options)))) == options
