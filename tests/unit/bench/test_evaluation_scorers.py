"""Every figure is checked against one worked out by hand."""

from math import sqrt

import pytest
from evaluation.agreement import Agreement
from evaluation.orders import kendall_tau, rank_precision
from evaluation.places import Group, LoggedRecord, group_agreement, place_agreement, score_groups
from evaluation.reactions import CodeBook, score_ranked, term_of
from evaluation.reviews import Picked, Review, score_picked
from evaluation.spans import jaccard, match_spans, names_found


class TestAgreement:
    def test_shares(self) -> None:
        found = Agreement(right=2, predicted=3, wanted=8)
        assert (found.precision, found.recall) == (pytest.approx(2 / 3), pytest.approx(1 / 4))
        assert found.f1 == pytest.approx(2 * (2 / 3) * (1 / 4) / (2 / 3 + 1 / 4))

    def test_nothing_found_is_nothing_right(self) -> None:
        assert (Agreement(0, 0, 4).precision, Agreement(0, 0, 4).recall, Agreement(0, 0, 4).f1) == (0, 0, 0)

    def test_counts_add_up(self) -> None:
        assert Agreement(1, 2, 3) + Agreement(4, 5, 6) == Agreement(5, 7, 9)


class TestSpans:
    def test_jaccard_is_of_distinct_words_without_case_and_punctuation(self) -> None:
        # {the, state, of, new, york} and {new, york, law}: 2 of 6
        assert jaccard("The State of New York, the state", "New York law") == pytest.approx(2 / 6)
        assert jaccard("", "...") == 0

    def test_a_span_must_be_more_alike_than_the_threshold(self) -> None:
        gold = [("Term", "a b c d e f g h i j k l m n o p q")]  # 17 words
        # 3 of 20 distinct words are 0.15, which is not more than 0.15; 4 of 20 are
        assert match_spans([("Term", "a b c x y z")], gold).right == 0
        assert match_spans([("Term", "a b c d x y z")], gold).right == 1

    def test_types_must_agree_but_for_their_case(self) -> None:
        gold = [("Governing Law", "the laws of Ohio")]
        assert match_spans([("Term", "the laws of Ohio")], gold) == Agreement(0, 1, 1)
        assert match_spans([("governing  law", "the laws of Ohio")], gold) == Agreement(1, 1, 1)

    def test_one_gold_span_is_found_once(self) -> None:
        gold = [("Parties", "Acme Corp and Bolt Ltd")]
        assert match_spans([("Parties", "Acme Corp"), ("Parties", "Bolt Ltd")], gold) == Agreement(1, 2, 1)

    def test_as_many_as_possible_are_matched(self) -> None:
        # The first prediction fits both gold spans, the second only the first: taking the best at once would lose one.
        gold = [("T", "a b c d"), ("T", "a b e f")]
        assert match_spans([("T", "a b"), ("T", "c d")], gold) == Agreement(2, 2, 2)

    def test_the_same_said_twice_counts_once(self) -> None:
        gold = [("T", "a b"), ("T", "c d")]
        assert match_spans([("T", "A b."), ("t", "a b")], gold) == Agreement(1, 1, 2)

    def test_names_are_found_by_all_of_their_words(self) -> None:
        texts = ["This agreement is between Sphere 3D Corp. and others", "GROUPE"]
        assert names_found(["Sphere 3D Corp.", "Groupe Parameus Corp"], texts) == Agreement(1, 2, 2)


class TestOrders:
    def test_tau_counts_pairs_in_order_less_those_that_are_not(self) -> None:
        assert kendall_tau([1, 2, 3, 4]) == pytest.approx(1)
        assert kendall_tau([4, 3, 2, 1]) == pytest.approx(-1)
        # pairs of 2, 1, 4, 3: four in order, two not
        assert kendall_tau([2, 1, 4, 3]) == pytest.approx((4 - 2) / 6)

    def test_ties_count_on_neither_side(self) -> None:
        # 1, 1, 2: two pairs in order, one tied: tau-b = 2 / sqrt(3 * 2)
        assert kendall_tau([1, 1, 2]) == pytest.approx(2 / sqrt(6))

    @pytest.mark.parametrize("values", [[], [3], [2, 2]])
    def test_without_two_values_there_is_no_order(self, values: list[float]) -> None:
        assert kendall_tau(values) is None

    def test_tau_of_two_scores_counts_pairs_that_both_put_in_one_order(self) -> None:
        true = [0.1, 0.4, 0.5, 0.9]
        assert kendall_tau([1, 2, 3, 4], true) == pytest.approx(1)
        assert kendall_tau([4, 3, 2, 1], true) == pytest.approx(-1)
        assert kendall_tau([2, 1, 3, 4], true) == pytest.approx((5 - 1) / 6)
        # five pairs in order, one tied on one side: 5 / sqrt((6 - 1) * 6)
        assert kendall_tau([1, 1, 3, 4], true) == pytest.approx(5 / sqrt(30))
        assert kendall_tau([1, 2], [1, 1]) is None

    def test_scores_of_different_things_are_refused(self) -> None:
        with pytest.raises(ValueError, match="2 scores of 3"):
            kendall_tau([1, 2], [1, 2, 3])

    def test_rank_precision_is_of_as_many_as_could_be_there(self) -> None:
        ranked, relevant = ["a", "x", "b", "y", "z", "c"], {"a", "b", "c"}
        assert rank_precision(ranked, relevant, 5) == pytest.approx(2 / 3)  # three could be among five, two are
        assert rank_precision(ranked, relevant, 2) == pytest.approx(1 / 2)
        assert rank_precision(ranked, relevant, 10) == 1
        assert rank_precision([], relevant, 5) == 0

    def test_a_repeated_item_counts_once(self) -> None:
        assert rank_precision(["a", "a", "b"], {"a", "b"}, 2) == 1

    def test_without_relevant_items_there_is_no_rank_precision(self) -> None:
        with pytest.raises(ValueError, match="at least one relevant"):
            rank_precision(["a"], set(), 5)


class TestReviews:
    GAME = {"1": Review(True, 10.0), "2": Review(True, 5.0), "3": Review(False, 1.0), "4": Review(False, 8.0)}

    def test_figures_of_all_lists_together(self) -> None:
        lists = [
            Picked(["1", "99", "2", "4"], True, self.GAME),  # 99 is made up, 4 negative; one of three pairs in order
            Picked(["3", "4"], False, self.GAME),  # in order
        ]
        found = score_picked(lists)
        assert found["hallucination_rate"] == pytest.approx(1 / 6)
        assert found["sentiment_accuracy"] == pytest.approx(4 / 5)
        assert found["kendall_tau"] == pytest.approx(((1 - 2) / 3 + 1) / 2)
        assert found["picked"] == 6

    def test_an_id_of_another_game_is_made_up(self) -> None:
        found = score_picked([Picked(["1"], True, {"7": Review(True, 1.0)})])
        assert found["hallucination_rate"] == 1

    def test_nothing_picked_is_no_success(self) -> None:
        assert score_picked([]) == {
            "hallucination_rate": 1.0, "sentiment_accuracy": 0.0, "kendall_tau": 0.0, "picked": 0.0,
        }  # fmt: skip


class TestPlaces:
    RECORDS = {
        "1": LoggedRecord("Theft at the Spring Market", "LARCENY", "SPRING ST"),
        "2": LoggedRecord("Shoplifting, Water St and Main Street", "LARCENY", "MAIN STREET"),
        "3": LoggedRecord("Alarm at 12 Cole Ave.", "ALARM", "COLE AVENUE"),
    }

    def test_groups_are_compared_by_b_cubed(self) -> None:
        kinds = {name: record.kind for name, record in self.RECORDS.items()}
        groups = [Group("theft", frozenset({"1"}), ()), Group("event", frozenset({"2", "3"}), ())]
        # precision 1, 1/2, 1/2; recall 1/2, 1/2, 1
        assert group_agreement(groups, kinds) == (pytest.approx(2 / 3), pytest.approx(2 / 3))

    def test_a_record_in_no_group_has_nothing(self) -> None:
        kinds = {name: record.kind for name, record in self.RECORDS.items()}
        assert group_agreement([Group("theft", frozenset({"1", "2"}), ())], kinds) == (
            pytest.approx(2 / 3), pytest.approx(2 / 3),
        )  # fmt: skip

    def test_places_are_right_where_a_text_of_the_group_has_them(self) -> None:
        groups = [
            Group("theft", frozenset({"1", "2"}), ("Main St", "Spring Street", "Water Street", "Oak Lane")),
            Group("alarm", frozenset({"3"}), ("12 Cole Avenue",)),
        ]
        # right: main, water, cole; Spring Street is where 1 was filed, but its text only names a market
        precision, recall = place_agreement(groups, self.RECORDS)
        assert precision == pytest.approx(3 / 5)
        assert recall == pytest.approx(3 / 3)

    def test_a_place_of_another_group_is_wrong(self) -> None:
        groups = [Group("alarm", frozenset({"3"}), ("Main Street",))]
        assert place_agreement(groups, self.RECORDS) == (0, 0)

    def test_types_are_counted_without_case(self) -> None:
        groups = [Group("Theft", frozenset({"1"}), ()), Group("theft", frozenset({"2"}), ())]
        found = score_groups(groups, self.RECORDS)
        assert (found["distinct_types"], found["gold_types"]) == (1, 2)


class TestReactions:
    BOOK = CodeBook.of(
        ["Renal failure", "Acute renal failure", "Failure", "Vitamin D", "Hypertension", "Renal failure acute"]
    )

    @pytest.mark.parametrize(
        ("phrase", "terms"),
        [
            ("severe hypertension", {"Hypertension"}),
            ("acute renal failure", {"Renal failure acute"}),
            ("renal failures", set()),
            ("vitamin D poisoning", set()),
            ("", set()),
        ],
    )
    def test_a_phrase_means_the_longest_terms_about_the_same(self, phrase: str, terms: set[str]) -> None:
        assert self.BOOK.closest(phrase) == {term_of(term) for term in terms}

    def test_cases_count_alike(self) -> None:
        gold = {"a": self.BOOK.closest("hypertension"), "b": self.BOOK.closest("renal failure")}
        ranked = {"a": ["x", "y", "z", "v", "w", "Hypertension"], "c": ["Renal failure"]}
        found = score_ranked(ranked, gold)
        assert found == {"rp@5": 0.0, "rp@10": 0.5, "rp@25": 0.5, "terms": 3.0}
