"""Who is asked next, and who is to blame for a crash."""

from __future__ import annotations

import random

import pytest

from models.isolation.line import WINDOW, Line, Ticket
from models.protocol import Request, Segment


def tickets(count):
    return [Ticket(n, Request((Segment("user", str(n)),), "{}"), lambda outcome: None) for n in range(count)]


def line_of(count):
    line = Line()
    made = tickets(count)
    for ticket in made:
        line.add(ticket)
    return line, made


def fill(line):
    """Send all that may be sent; return their numbers."""
    return [ticket.number for ticket in iter(line.next, None)]


def test_the_child_gets_a_window_in_order_and_one_more_for_each_that_leaves():
    line, _ = line_of(2000)
    assert fill(line) == list(range(WINDOW))
    for number in (5, 99, 0):
        assert line.remove(number).number == number
    assert fill(line) == [WINDOW, WINDOW + 1, WINDOW + 2]
    assert sum(line.is_inside(ticket.number) for ticket in line.everyone) == WINDOW
    assert len(line.everyone) == 1997


def test_a_request_can_leave_from_anywhere():
    line, _ = line_of(WINDOW + 2)
    fill(line)
    assert line.is_inside(3)
    assert not line.is_inside(WINDOW + 1)
    assert line.remove(WINDOW + 1).number == WINDOW + 1
    assert line.remove(3).number == 3
    assert line.remove(3) is None
    assert len(line.everyone) == WINDOW


def test_after_a_kill_from_outside_the_same_are_asked_first_and_nobody_is_blamed():
    line, made = line_of(300)
    for _ in range(20):
        assert fill(line) == list(range(WINDOW))
        assert line.take_back(blamed=False) == []
    assert {ticket.crashes for ticket in made} == {0}


def test_a_crash_is_followed_by_ever_smaller_groups_until_the_guilty_one_is_alone():
    line, _ = line_of(300)
    poison = 77
    sizes, finished, crashes = [], [], 0
    while line.everyone:
        fill(line)
        inside = [ticket.number for ticket in line.everyone if line.is_inside(ticket.number)]
        sizes.append(len(inside))
        if poison in inside:
            crashes += 1
            guilty = line.take_back(blamed=True)
            if guilty:
                assert [ticket.number for ticket in guilty] == [poison]
                poison = -1
        else:
            finished += [line.remove(number).number for number in inside]
    assert crashes <= 6
    assert sizes[:2] == [WINDOW, WINDOW]
    assert sorted(finished) == [n for n in range(300) if n != 77]


@pytest.mark.parametrize("seed", range(20))
def test_any_number_of_poisoned_requests_are_found_and_no_other_is_blamed(seed):
    chance = random.Random(seed)
    line, made = line_of(chance.randrange(1, 400))
    poisoned = {t.number for t in chance.sample(made, min(len(made), chance.randrange(0, 9)))}
    finished, blamed, in_a_row = set(), set(), 0
    while line.everyone:
        fill(line)
        inside = [ticket.number for ticket in line.everyone if line.is_inside(ticket.number)]
        assert inside, "nothing is sent, and yet some wait"
        # Some finish before the crash, some do not.
        done = [n for n in inside if n not in poisoned and (not poisoned & set(inside) or chance.random() < 0.2)]
        finished |= {line.remove(number).number for number in done}
        if poisoned & set(inside):
            guilty = line.take_back(blamed=True)
            blamed |= {ticket.number for ticket in guilty}
            in_a_row = 0 if guilty or done else in_a_row + 1
            assert in_a_row <= 6
    assert blamed == poisoned
    assert finished == {ticket.number for ticket in made} - poisoned


def test_a_request_that_is_alone_is_known_after_two_crashes():
    line, made = line_of(1)
    fill(line)
    assert line.take_back(blamed=True) == []
    fill(line)
    assert line.take_back(blamed=True) == made
    assert line.everyone == []


def test_while_suspects_are_looked_at_no_other_joins_them():
    line, made = line_of(WINDOW + 10)
    fill(line)
    for ticket in made[:4]:
        ticket.crashes = 3
    line.take_back(blamed=True)
    assert fill(line) == [0]
    line.remove(0)
    assert fill(line) == [1]
    for number in (1, 2, 3):
        line.remove(number)
    assert fill(line) == list(range(4, WINDOW + 4))
