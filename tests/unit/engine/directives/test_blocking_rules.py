import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.directives.synthesised_blocking import RULES, JudgedPair, chosen_rules, conditions, proposes, score
from engine.language.conditions import Trouble, condition
from engine.text.likeness import soundex

BY_NAME = {rule.name: rule for rule in RULES}


@pytest.mark.parametrize(
    ("rule", "left", "right", "holds"),
    [
        ("contains", "NYPD", "officer of the NYPD", True),
        ("contains", "art", "party", False),
        ("contains", "", "party", False),
        ("has_all_words", "Renal failure acute", "acute failure, renal or other", True),
        ("has_all_words", "Renal failure acute", "failure of the renal artery", False),
        ("has_all_words", "", "party", False),
        ("shares_words", "New York City", "City of New York", True),
        ("shares_words", "Boston", "New York City", False),
        ("spelt_alike", "Varrick", "Varick", True),
        ("spelt_alike", "Varrick", "Tullock", False),
        ("has_initials_of", "D. H.", "Daniel Harmon", True),
        ("has_initials_of", "New York Police Department", "NYPD", True),
        ("has_initials_of", "D. K.", "Daniel Harmon", False),
        ("sounds_alike", "Sgt. Robert", "Officer Rupert", True),
        ("sounds_alike", "Robert", "Rubin", False),
        ("numbers_differ", "Harmon #1234", "Harmon #4321", True),
        ("numbers_differ", "Harmon #1234", "D. Harmon 1234", False),
        ("numbers_differ", "Harmon", "Harmon 1234", False),
    ],
)
def test_rule(rule, left, right, holds):
    assert BY_NAME[rule].holds(left, right) is holds
    assert BY_NAME[rule].holds(right, left) is holds


@pytest.mark.parametrize(
    ("word", "key"),
    # the examples of the National Archives
    [("Washington", "W252"), ("Lee", "L000"), ("Gutierrez", "G362"), ("Pfister", "P236"), ("Jackson", "J250")]
    + [("Tymczak", "T522"), ("Ashcraft", "A261"), ("Robert", "R163"), ("Rupert", "R163"), ("Rubin", "R150")]
    + [("", ""), ("1234", "")],
)
def test_soundex_is_that_of_the_national_archives(word, key):
    assert soundex(word) == key


def test_a_rule_that_forbids_wins():
    assert proposes([BY_NAME["shares_words"]], "Harmon 12", "Harmon 34")
    assert not proposes([BY_NAME["shares_words"], BY_NAME["numbers_differ"]], "Harmon 12", "Harmon 34")


PAIRS = [
    JudgedPair("NYC", "New York City", True),
    JudgedPair("New York City", "Town of New York", True),
    JudgedPair("Boston", "Chicago", False),
    JudgedPair("Unit 12 of New York", "Unit 34 of New York", False),
]


def test_score_counts_what_rules_let_through():
    found = score([BY_NAME["shares_words"]], PAIRS)
    assert (found.recall, found.others) == (0.5, 0.5)
    assert score([], []).recall == 1.0


def test_rules_are_chosen_until_the_recall_is_reached():
    chosen = chosen_rules(PAIRS)
    assert {"has_initials_of", "shares_words", "numbers_differ"} == {rule.name for rule in chosen}
    found = score(chosen, PAIRS)
    assert (found.recall, found.others) == (1.0, 0.0)


def test_a_rule_that_forbids_is_chosen_only_where_it_spares_comparisons():
    pairs = [JudgedPair("New York", "City of New York", True), JudgedPair("Boston 1", "Chicago 2", False)]
    assert [rule.name for rule in chosen_rules(pairs)] == ["contains"]


def test_no_rules_are_chosen_where_none_reach_the_recall():
    assert chosen_rules([JudgedPair("The Big Apple", "NYC", True)]) == ()
    assert chosen_rules([JudgedPair("a", "b", False)]) == ()


def said_by(text, lefts, rights):
    trouble = Trouble()
    found = {(i, j) for i, matched in condition(text).matches(lefts, rights, trouble) for j in matched}
    assert trouble.count == 0
    return found


VALUES = [
    "NYPD",
    "officer of the nypd",
    "D. H.",
    "Daniel Harmon",
    "Harmón #12",
    "Harmon 34",
    "Varick",
    "Varrick",
    "",
    "…",
]
TEXTS = st.lists(st.sampled_from(VALUES) | st.text("ab 1é.", max_size=8), min_size=1, max_size=6)


@given(lefts=TEXTS, rights=TEXTS, chosen=st.sets(st.sampled_from(sorted(BY_NAME)), min_size=1))
def test_conditions_propose_what_their_rules_propose(lefts, rights, chosen):
    rules = [rule for rule in RULES if rule.name in chosen]
    texts = conditions(rules, "a name", "title")
    assert len(texts) == sum(not rule.forbids for rule in rules)
    sides = [{"a name": one} for one in lefts], [{"title": one} for one in rights]
    found = set().union(*(said_by(text, *sides) for text in texts))
    pairs = {(i, j) for i in range(len(lefts)) for j in range(len(rights))}
    assert found == {(i, j) for i, j in pairs if proposes(rules, lefts[i], rights[j])}


def test_what_is_no_text_is_like_nothing():
    [text] = conditions([BY_NAME["has_all_words"], BY_NAME["numbers_differ"]], "name", "title")
    rows = [{"name": None}, {"name": ["a"]}, {"name": "a"}]
    assert said_by(text, rows, [{"title": "a b"}, {"title": None}]) == {(2, 0)}
