"""Code checks what a model answered: lines that were shown, values that stand in them, quotes, parts of records."""

from __future__ import annotations

import pytest
from worked_answers import item

from engine.answers.checking import MOST_BESIDE, Checker
from engine.answers.contract import Dropped
from engine.answers.reply import Form
from engine.answers.shown import Shown
from engine.answers.specs import answer_type, spec_of
from engine.rows import Span
from engine.text.numbered_text import NumberedText
from models.fits import find_misfit

TEXT = """LEASE
This lease takes effect on 15 March 2024.
The rent is USD 1,200 per month, payable by the ten-
ant in advance.
The landlord is Corvin Estates Ltd.
The tenant is Mara Tullock, of 12 Elm Street.
The deposit is two months' rent.
Signed on April 2, 2024."""


def checker(*blocks, accept=("verbatim", "inferred"), first_line=1):
    text = NumberedText.of(TEXT, first_line)
    pieces = range(len(text.pieces)) if not blocks else [n for block in blocks for n in block]
    return Checker(Shown.of(text, pieces), accept, page_of=lambda line: 1 + line // 5)


def check(kind, value, first, last=None, *, checks=None, **more):
    spec = spec_of(answer_type(kind), "single", {})
    return (checks or checker()).item(spec, item(value, first, last, **more))


def test_a_value_keeps_the_lines_it_stands_in():
    found = check("text", "Corvin Estates Ltd.", 5)
    assert (found.value, found.spans, found.method) == ("Corvin Estates Ltd.", (Span(5, 5),), "verbatim")
    assert (found.snippet, found.page) == ("The landlord is Corvin Estates Ltd.", 2)


def test_a_citation_of_many_lines_is_narrowed_to_those_that_hold_the_value():
    assert check("text", "Corvin Estates Ltd", 1, 8).spans == (Span(5, 5),)


def several(value, *spans, kind="text", checks=None):
    """Check an item that cites several spans."""
    written = {"spans": [{"line_start": first, "line_end": last} for first, last in spans], "value": value}
    return (checks or checker()).item(spec_of(answer_type(kind), "single", {}), written)


def test_every_span_of_a_value_is_kept_and_not_only_the_first():
    """Article, 2.2: a value and its exception in another paragraph are one item with two spans."""
    found = several("USD 1,200 per month", (7, 7), (3, 4), kind="amount")
    assert found.spans == (Span(3, 3), Span(7, 7))
    assert found.snippet.splitlines() == [TEXT.splitlines()[2], TEXT.splitlines()[6]]
    assert (found.method, found.page) == ("verbatim", 1)


def test_a_value_that_stands_in_two_citations_is_narrowed_in_both():
    found = several("lease", (1, 1), (2, 4))
    assert found.spans == (Span(1, 1), Span(2, 2))


def test_other_spans_of_a_value_whose_lines_were_wrong_are_no_evidence():
    assert several("Mara Tullock", (2, 2), (7, 7)).spans == (Span(6, 6),)


def test_a_span_around_the_value_or_of_many_lines_is_narrowed_or_left_out():
    assert several("Corvin Estates Ltd.", (5, 5), (1, 8)).spans == (Span(5, 5),)
    text = NumberedText.of(
        "\n".join(["The fee is EUR 40.", "", *["Nothing else is said here."] * (MOST_BESIDE + 1)]), 1
    )
    checks = Checker(Shown.of(text, range(len(text.pieces))), ("verbatim",))
    last = len(text.pieces)
    assert several("EUR 40", (1, 1), (3, last), checks=checks).spans == (Span(1, 1),)
    assert several("EUR 40", (1, 1), (4, last), checks=checks).spans == (Span(1, 1), Span(4, last))


def test_a_word_that_is_broken_at_the_end_of_a_line_is_found_over_both():
    assert check("text", "payable by the tenant in advance", 3, 4).spans == (Span(3, 4),)


def test_wrong_lines_are_put_right():
    found = check("text", "Mara Tullock", 2)
    assert found.spans == (Span(6, 6),)


def test_a_value_that_stands_nowhere_is_dropped():
    found = check("person", "Mara Brandmoor", 6)
    assert isinstance(found, Dropped)
    assert found.why == "'Mara Brandmoor' does not stand in the lines"


def test_a_part_of_a_word_is_no_place():
    assert isinstance(check("person", "Tull", 6), Dropped)


@pytest.mark.parametrize("written", ["15 March 2024", "2024-03-15", "March 15th, 2024"])
def test_a_date_is_found_by_what_it_means_and_told_as_it_is_written(written):
    found = check("date", written, 2)
    assert (found.value["iso"], found.original, found.method) == ("2024-03-15", "15 March 2024", "verbatim")


def test_a_date_of_another_day_is_dropped():
    assert isinstance(check("date", "16 March 2024", 2), Dropped)


def test_an_amount_is_read_by_code():
    found = check("amount", "USD 1,200 per month", 3)
    assert {**found.value} == {
        "value": 1200,
        "currency": "USD",
        "unit": "per month",
        "original": "USD 1,200 per month",
        "problem": None,
    }


def test_what_is_no_amount_is_kept_as_it_is_written_and_said():
    found = check("amount", "two months' rent", 7)
    assert (found.value["value"], found.value["original"]) == (None, "two months' rent")
    assert found.problem


def test_other_words_are_inferred_where_the_lines_bear_them_out():
    found = check("text", "the monthly rent is payable in advance", 3, 4)
    assert (found.method, found.spans) == ("inferred", (Span(3, 4),))
    strict = check("text", "the monthly rent is payable in advance", 3, 4, checks=checker(accept=("verbatim",)))
    assert isinstance(strict, Dropped)
    assert isinstance(check("text", "subletting is forbidden altogether", 3, 4), Dropped)


def test_a_value_that_the_model_computed_ships_only_where_that_is_accepted():
    spec = spec_of(answer_type("number"), "single", {})
    written = item("2,400", 7)
    assert isinstance(checker().item(spec, written, claim="computed"), Dropped)
    allowed = checker(accept=("verbatim", "computed")).item(spec, written, claim="computed")
    assert (allowed.value, allowed.method) == (2400, "computed")


def test_a_yes_cites_its_lines():
    found = check("boolean", True, 6)
    assert (found.value, found.spans, found.method) == (True, (Span(6, 6),), "inferred")


def test_a_quote_catches_a_wrong_line_number():
    assert check("boolean", True, 1, quote="The tenant is Mara Tullock").spans == (Span(6, 6),)
    assert isinstance(check("boolean", True, 1, quote="No pets are allowed"), Dropped)


def test_only_lines_that_are_shown_can_be_named():
    checks = checker(range(0, 2), range(4, 6), first_line=11)
    schema = Form(type=answer_type("text"), shape="list").schema(checks.shown)
    reply = {"items": [item("LEASE", 11)], "complete_answer_found": True}
    assert find_misfit(reply, schema) is None
    assert find_misfit({**reply, "items": [item("LEASE", 13)]}, schema)
    across = check("text", "Corvin Estates Ltd.", 12, 15, checks=checks)
    assert isinstance(across, Dropped)
    assert checks.shown.render() == (
        "11: LEASE\n12: This lease takes effect on 15 March 2024.\n[...]\n"
        "15: The landlord is Corvin Estates Ltd.\n16: The tenant is Mara Tullock, of 12 Elm Street.\n[...]"
    )


def test_each_part_of_a_record_is_checked_and_what_is_invented_is_left_out():
    spec = spec_of(answer_type("text"), "nested", {"who": "text", "since": "date", "rent": "amount"})
    written = item({"who": "Mara Tullock", "since": "15 March 2024", "rent": "USD 9,999"}, 6)
    found = checker().item(spec, written)
    assert (found.value["who"], found.value["since"]["iso"], found.value["rent"]) == (
        "Mara Tullock",
        "2024-03-15",
        None,
    )
    assert found.spans == (Span(2, 2), Span(6, 6))
    assert found.problem == "'USD 9,999' does not stand in the lines"


def test_a_part_that_is_left_empty_is_null_and_no_problem():
    parts = {"street": "12 Elm Street", "postal_code": "", "city": " ", "region": None, "country": ""}
    found = check("address", {"original": "12 Elm Street", **parts}, 6)
    assert (found.value["street"], found.value["postal_code"], found.value["city"]) == ("12 Elm Street", None, None)
    assert found.problem == ""


def test_what_is_complained_of_names_the_item():
    reply = {"items": [item("Mara Tullock", 6), item("Kay Brandmoor", 6)], "complete_answer_found": True}
    checked = checker().check(Form(type=answer_type("person"), shape="list"), reply)
    assert [one.value["last"] for one in checked.answer.items] == ["Tullock"]
    assert checked.complaints == ("item 2: 'Kay Brandmoor' does not stand in the lines",)
    assert checked.answer.signals == {"complete_answer_found": True}


def test_a_list_has_no_more_items_than_the_reply_has_room_for():
    most = Form(type=answer_type("text"), shape="list", most=40, reply_tokens=450).most_items
    assert most == 10


def test_the_number_of_a_line_that_was_copied_with_it_is_no_part_of_the_value():
    found = check("text", "5: The landlord is Corvin Estates Ltd.", 5)
    assert (found.original, found.method) == ("The landlord is Corvin Estates Ltd.", "verbatim")
    assert found.value == "The landlord is Corvin Estates Ltd."
    other = check("text", "500: The landlord is Corvin Estates Ltd.", 5)  # there is no such line
    assert (other.original, other.method) == ("500: The landlord is Corvin Estates Ltd.", "inferred")


def test_the_number_of_a_line_goes_from_a_day_that_cannot_be_read_too():
    found = check("date", "5: The landlord is Corvin Estates Ltd.", 5)
    assert found.original == "The landlord is Corvin Estates Ltd."
    assert found.value["original"] == "The landlord is Corvin Estates Ltd."


def test_a_number_in_other_words_than_the_text_has_is_not_verbatim():
    text = NumberedText.of("The duty ends no more than five (5) years from the date above.")
    found = check("text", "5 (5) years", 1, checks=Checker(Shown.of(text, [0]), ("verbatim", "inferred")))
    assert (found.original, found.method) == ("5 (5) years", "inferred")
    assert isinstance(check("text", "5 (5) years", 1, checks=Checker(Shown.of(text, [0]), ("verbatim",))), Dropped)
