from __future__ import annotations

import pytest

from engine.ask.proposal import Column, Proposal
from engine.ask.wording import alternatives, draft_from_words, kind_of, row_noun, settle
from engine.errors import UsageError


def test_a_row_per_kind_of_document_is_a_row_per_document() -> None:
    assert row_noun("contract", "Contracts signed after 2015: parties, value") == ""
    assert row_noun("contract", "Which contracts were signed after 2015?") == "contract"
    assert row_noun("consent", "Did the patient consent, and who was the doctor?") == ""
    assert row_noun("the search warrants", "search warrants (one per file): judge, date") == ""
    assert row_noun("complaint", "For each complaint, the date and the outcome") == ""
    assert row_noun("complaint", "Which complaints about noise did neighbours make?") == "complaint"
    assert row_noun("contracts", "Which contracts are mentioned in the mails?") == "contract"
    assert row_noun("cars", "Which cars are mentioned?") == "car"


def test_the_question_may_say_what_a_row_is() -> None:
    party = settle(Proposal("For each contract, its parties, one line per party", "contract", (Column("party"),)))
    assert party.row == "party"
    permit = settle(Proposal("Permits: applicant. One row per permit file.", "permit", (Column("applicant"),)))
    assert permit.row == ""
    deadline = settle(Proposal("For every deadline: the date", "document", (Column("date", "date"),)))
    assert (deadline.row, deadline.columns[0]) == ("deadline", Column("deadline"))


@pytest.mark.parametrize(
    "question",
    [
        "Wills. One will to a pdf: testator",
        "I have 40 wills, a file each: testator",
        "wills, 1 will = 1 scan. testator",
        "Wills (every bundle holds one will): testator",
        "Dog licences - each is about one dog: owner",
        "Wills, one dead person per report: testator",
        "wills, 1 will each file. testator",
        "Wills, each of them scanned as its own file: testator",
        "Wills (1 scan = 1 will): testator",
        "For each will: testator",
    ],
)
def test_a_question_that_says_that_a_file_holds_one_gets_a_row_per_document(question: str) -> None:
    assert settle(Proposal(question, "will", (Column("testator", "person"),))).row == ""


@pytest.mark.parametrize(
    ("question", "row"),
    [
        ("The exports hold thousands of messages each. Sender, recipient", "message"),
        ("Every expense claim of the minister, there are dozens in each report: amount", "expense claim"),
        ("thefts found in the inventories. item, date, value", "theft"),
        ("bridges inspected since 2010: condition", "bridge"),
        ("Appeal cases from the court's yearbooks: judge", "Appeal case"),
        ("Who sat on the jury? juror, verdict", "juror"),
        ("pls make a table of all the storms in the chronicles: year", "storm"),
        ("The reports tell of dozens of thefts. For each theft I'd like the value", "theft"),
        ("Every time the letters tell of a storm: where", ""),
        ("How many cats are in each shelter?", ""),
        ("I want a table of all robberies with the date", "robbery"),
        ("Could you send me a list of all contracts with the price", ""),
        ("ships leaving, from the pilot's notes. captain", "ship"),
        ("one row per bus stop: shelter", "bus stop"),
        ("one row per file plz: shelter", ""),
        ("Appeal cases: judge, date", ""),
    ],
)
def test_a_question_that_lists_many_of_a_document_gets_a_row_for_each(question: str, row: str) -> None:
    assert settle(Proposal(question, "document", (Column("amount", "amount"),))).row == row


def test_a_column_that_is_what_the_question_lists_first_makes_it_the_row() -> None:
    asked = "vessels, the pilot's notes. vessel / captain"
    assert settle(Proposal(asked, "document", (Column("vessel"), Column("captain")))).row == "vessel"


def test_a_name_that_is_a_list_of_choices_becomes_a_column_of_them() -> None:
    columns = (Column("prisoner", "person"), Column("granted / denied / deferred"))
    settled = settle(Proposal("prisoner, granted / denied / deferred", "document", columns))
    assert settled.columns[1] == Column("outcome", "one of", ("granted", "denied", "deferred"))


def test_or_not_is_yes_or_no() -> None:
    asked = "each loan: bank, sum, repaid or not"
    settled = settle(Proposal(asked, "loan", (Column("bank"), Column("repaid or not"))))
    assert settled.columns[-1] == Column("repaid", "yes/no")
    assert alternatives(asked) == []


def test_columns_written_as_choices_are_columns() -> None:
    asked = "port calls: ship, number of crew, inspected or not"
    listed = Column("call", "one of", ("ship", "number of crew", "inspected or not"))
    assert [c.name for c in settle(Proposal(asked, "port call", (listed,))).columns[-3:]] == [
        "ship", "number of crew", "inspected",
    ]  # fmt: skip
    asked = "Each claim: accepted / partly accepted / rejected"
    choices = ("accepted", "partly accepted", "rejected")
    column = Column("accepted / partly accepted / rejected", "one of", choices)
    assert settle(Proposal(asked, "claim", (column,))).columns == (Column("claim"), column)


def test_a_column_that_repeats_the_row_is_dropped() -> None:
    columns = (Column("restaurant"), Column("name"), Column("title"), Column("address"))
    assert [c.name for c in settle(Proposal("Which failed, name and address", "restaurant", columns)).columns] == [
        "restaurant", "address",
    ]  # fmt: skip
    columns = (Column("promise", "quotation"), Column("word for word", "quotation"), Column("date", "date"))
    promises = settle(Proposal("Promises: the sentence, word for word, and the date", "promise", columns))
    assert [c.name for c in promises.columns] == ["promise", "date"]
    columns = (Column("scientist", "person"), Column("exact words", "quotation"), Column("date", "date"))
    words = settle(Proposal("Scientists on vaccines: exact words, date", "scientist", columns))
    assert [c.name for c in words.columns] == ["scientist", "exact words", "date"]
    present = settle(Proposal("Who was present?", "person", (Column("person", "person"), Column("present", "yes/no"))))
    assert [c.name for c in present.columns] == ["person"]


def test_the_words_alone_give_a_usable_table() -> None:
    cars = draft_from_words("Which cars are mentioned, with plate number and date seen?")
    assert (cars.row, [(c.name, c.kind) for c in cars.columns]) == (
        "car", [("car", "text"), ("plate number", "text"), ("date seen", "date")],
    )  # fmt: skip
    assert [c.kind for c in draft_from_words("Is a weapon mentioned?").columns] == ["yes/no", "quotation"]
    assert draft_from_words("Wer war anwesend?").columns == (Column("answer"), Column("sentence", "quotation"))
    with pytest.raises(UsageError, match="there is no question"):
        draft_from_words("  ")


def test_choices_that_the_question_does_not_name_are_dropped() -> None:
    asked = "What language is it in, and was it sustained, not sustained or exonerated?"
    columns = (
        Column("language", "one of", ("English", "French")),
        Column("finding", "one of", ("sustained", "not sustained", "exonerated", "closed")),
    )
    settled = settle(Proposal(asked, "document", columns))
    assert settled.columns[0] == Column("language")
    assert settled.columns[1].choices == ("sustained", "not sustained", "exonerated")


def test_columns_for_each_choice_become_one_column() -> None:
    asked = "Say whether each file is handwritten, typed or both"
    assert alternatives(asked) == [("handwritten", "typed", "both")]
    columns = (Column("language"), Column("handwritten", "yes/no"), Column("typed", "yes/no"))
    settled = settle(Proposal(asked, "file", columns))
    assert settled.row == ""
    assert settled.columns == (
        Column("language"),
        Column("type", "one of", ("handwritten", "typed", "both")),
    )


def test_a_choice_has_no_column_beside_the_column_of_choices() -> None:
    asked = "Is it a letter, a report, an invoice or other?"
    parts = (Column("type"), Column("is it a letter", "yes/no"), Column("is it a report", "yes/no"))
    kinds = ("letter", "report", "invoice", "other")
    assert settle(Proposal(asked, "document", parts)).columns == (Column("type", "one of", kinds),)
    asked = "Each allegation, and was it sustained, not sustained or exonerated?"
    finding = Column("finding", "one of", ("sustained", "not sustained", "exonerated"))
    columns = (Column("allegation"), finding, Column("sustained", "yes/no"))
    assert settle(Proposal(asked, "allegation", columns)).columns == columns[:2]


def test_a_choice_with_a_verb_before_it_is_one_of_them() -> None:
    columns = (Column("was granted", "yes/no"), Column("denied", "yes/no"), Column("withdrawn", "yes/no"))
    settled = settle(Proposal("For each file, was it granted, denied or withdrawn?", "file", columns))
    assert settled.columns == (Column("outcome", "one of", ("granted", "denied", "withdrawn")),)


def test_a_row_that_no_column_names_gets_one() -> None:
    asked = "everyone who gave money, with town and amount"
    settled = settle(Proposal(asked, "donor", (Column("town"), Column("amount", "amount"))))
    assert settled.columns[0] == Column("donor", "person")
    named = settle(
        Proposal("dog bites: name of the dog, date", "dog bite", (Column("name of the dog"), Column("date", "date")))
    )
    assert len(named.columns) == 2


def test_what_a_question_lists_first_is_the_row() -> None:
    columns = (Column("address"), Column("date", "date"), Column("inspector", "person"))
    asked = "inspections from 2020 on where mold was found. address, date, inspector"
    assert settle(Proposal(asked, "document", columns)) == Proposal(asked, "inspection", columns)
    for asked in (
        "parties, effective date, governing law",
        "Contracts signed after 2015: parties, value",
        "How many shots were fired?",
        "In two sentences, what is it about?",
        "planning permits: applicant, address",
    ):
        assert settle(Proposal(asked, "document", columns)).row == ""


@pytest.mark.parametrize(
    ("asked", "row"),
    [
        ("OSHA files. For each violation cited: employer, penalty", "violation"),
        ("At each bail hearing, what was asked for?", "bail hearing"),
        ("For each contract: parties, fee", ""),
    ],
)
def test_what_each_row_is_may_be_said_in_other_ways(asked: str, row: str) -> None:
    assert settle(Proposal(asked, "document", (Column("employer"), Column("penalty")))).row == row


@pytest.mark.parametrize(
    ("asked", "choices"),
    [
        ("Candidate, party, how many signed, and whether it was accepted or rejected", ("accepted", "rejected")),
        (
            "employer, standard, and if it's serious, willful, repeat or other",
            ("serious", "willful", "repeat", "other"),
        ),
        ("was it sustained, not sustained or exonerated", ("sustained", "not sustained", "exonerated")),
    ],
)
def test_choices_begin_behind_their_question(asked: str, choices: tuple[str, ...]) -> None:
    assert alternatives(asked) == [choices]


def test_what_is_asked_for_each_has_a_column() -> None:
    columns = (Column("bidder", "person"), Column("amount offered", "amount"))
    settled = settle(Proposal("who bid on each tender, and how much", "bid", columns))
    assert [c.name for c in settled.columns] == ["bidder", "amount offered", "tender"]
    yearly = settle(Proposal("how often did each vendor win, per year please", "vendor", (Column("vendor"),)))
    assert [c.name for c in yearly.columns] == ["vendor", "year"]
    same = settle(Proposal("each council member with a vote, per file", "council member", (Column("council member"),)))
    assert [c.name for c in same.columns] == ["council member"]
    said = (Column("statement", "quotation"), Column("contradicts", "yes/no"))
    flat = settle(Proposal("what is said about heat, for each apartment: quote", "apartment", said))
    assert flat.columns[0] == Column("apartment")


def test_an_event_needs_no_name() -> None:
    columns = (Column("unit"), Column("speed", "number"), Column("killed", "number"))
    assert settle(Proposal("rollovers: unit, speed, killed", "rollover", columns)).columns == columns
    assert settle(Proposal("dams: unit, speed, killed", "dam", columns)).columns[0] == Column("dam")


def test_choices_in_brackets_and_yes_or_no() -> None:
    asked = "memos: classification (secret, confidential, unclassified), sent back y/n"
    settled = settle(Proposal(asked, "memo", (Column("classification"), Column("sent back y/n", "yes/no"))))
    assert settled.columns == (
        Column("classification", "one of", ("secret", "confidential", "unclassified")),
        Column("sent back", "yes/no"),
    )


def test_names_tell_kinds() -> None:
    names = ("badge number", "number of shots", "date filed", "fee for leaving", "was searched", "colour")
    assert [kind_of(name) for name in names] == ["text", "number", "date", "amount", "yes/no", "text"]
