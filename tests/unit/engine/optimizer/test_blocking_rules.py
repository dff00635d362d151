import pytest

from engine.language.conditions import Trouble, condition
from engine.optimizer.blocking_rules import RULES, JudgedPair, chosen_rules, proposes, score, soundex

BY_NAME = {rule.name: rule for rule in RULES}


@pytest.mark.parametrize(
    ("rule", "left", "right", "holds"),
    [
        ("contains", "NYPD", "officer of the NYPD", True),
        ("contains", "art", "party", False),
        ("contains", "", "party", False),
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
    JudgedPair("New York City", "City of New York", True),
    JudgedPair("Boston", "Chicago", False),
    JudgedPair("Unit 12 of New York", "Unit 34 of New York", False),
]


def test_score_counts_what_rules_let_through():
    found = score([BY_NAME["shares_words"]], PAIRS)
    assert (found.recall, found.others) == (0.5, 0.5)
    assert score([], []).recall == 1.0


def test_rules_are_chosen_until_the_recall_is_reached():
    chosen = chosen_rules(PAIRS)
    assert {"has_initials_of", "shares_words", "numbers_differ"} <= {rule.name for rule in chosen}
    found = score(chosen, PAIRS)
    assert (found.recall, found.others) == (1.0, 0.0)


def test_no_rules_are_chosen_where_none_reach_the_recall():
    assert chosen_rules([JudgedPair("The Big Apple", "NYC", True)]) == ()
    assert chosen_rules([JudgedPair("a", "b", False)]) == ()


def test_a_condition_says_what_its_rule_says():
    rule = BY_NAME["contains"]
    assert rule.condition is not None
    found = condition(rule.condition("name", "title"))
    lefts, rights = [{"name": "NYPD"}, {"name": "LAPD"}], [{"title": "officer of the nypd"}]
    trouble = Trouble()
    matched = {(left, right) for left, found_rights in found.matches(lefts, rights, trouble) for right in found_rights}
    assert matched == {(0, 0)}
    assert trouble.count == 0
