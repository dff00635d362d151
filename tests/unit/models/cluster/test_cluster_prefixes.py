from __future__ import annotations

from models.cluster.dispatcher import ReadPrefixes, beginnings
from models.protocol import Segment


def prompt(*texts: str, last: str = "?") -> tuple[Segment, ...]:
    return (*(Segment("user", text, shared=True) for text in texts), Segment("user", last))


def test_beginnings_end_at_the_last_shared_segment() -> None:
    segments = (Segment("system", "abc"), Segment("user", "doc", shared=True), Segment("user", "question"))
    assert [step.characters for step in beginnings(segments)] == [3, 6]
    assert [step.characters for step in beginnings(segments[:1] + segments[2:])] == [3]
    assert beginnings(()) == ()


def test_equal_beginnings_have_equal_keys_and_others_not() -> None:
    one, two = beginnings(prompt("sys", "doc", last="a")), beginnings(prompt("sys", "doc", last="b"))
    assert one == two
    keys = {
        beginnings(prompt(*texts))[-1].key for texts in (("sys", "doc"), ("sysdoc",), ("sy", "sdoc"), ("doc", "sys"))
    }
    assert len(keys) == 4
    assert beginnings([Segment("system", "x")])[0].key != beginnings([Segment("user", "x")])[0].key


def test_matches_the_longest_beginning_that_was_read() -> None:
    read = ReadPrefixes(100)
    read.add(beginnings(prompt("sys", "document one")))
    assert read.match(beginnings(prompt("sys", "document one", "more"))) == 15
    assert read.match(beginnings(prompt("sys", "document two"))) == 3
    assert read.match(beginnings(prompt("other", "document one"))) == 0
    read.clear()
    assert read.match(beginnings(prompt("sys"))) == 0


def test_forgets_what_was_used_longest_ago_and_ends_before_starts() -> None:
    read = ReadPrefixes(3 + 10 + 10)
    a, b, c = (beginnings(prompt("sys", letter * 10)) for letter in "abc")
    read.add(a)
    read.add(b)
    read.add(a)
    read.add(c)
    assert [read.match(steps) for steps in (a, b, c)] == [13, 3, 13]


def test_a_text_larger_than_the_memory_is_not_kept() -> None:
    read = ReadPrefixes(5)
    read.add(beginnings(prompt("x" * 6)))
    assert read.match(beginnings(prompt("x" * 6))) == 0
    read.add(beginnings(prompt("abc")))
    assert read.match(beginnings(prompt("abc"))) == 3
