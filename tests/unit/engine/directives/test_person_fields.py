"""Which fields rules for names of persons may decide."""

from __future__ import annotations

import pytest

from engine.directives.person_fields import holds_persons
from engine.language.templates import Template

VARIABLES = frozenset({"input1", "input2"})


@pytest.mark.parametrize(
    "field",
    ["officer", "officers", "arresting_officer", "officer_name", "defendantNames", "Witness", "witnesses", "person"],
)
def test_called_after_persons(field: str) -> None:
    assert holds_persons(field)


@pytest.mark.parametrize(
    "field",
    ["product_name", "filename", "file_name", "officer_badge", "author_year", "agent_count", "agency", "sponsorship"],
)
def test_called_after_something_else(field: str) -> None:
    assert not holds_persons(field)
    assert not holds_persons(field, [Template("Are these the same officer?", VARIABLES)])


@pytest.mark.parametrize("field", ["name", "full_name", "Name"])
def test_a_name_is_whose_the_prompt_says(field: str) -> None:
    restaurants = Template("Restaurants {{ input1.name }} and {{ input2.name }}: the same?", VARIABLES)
    police = Template("Two police officers: {{ input1.name }} and {{ input2.name }}. The same?", VARIABLES)
    assert not holds_persons(field)
    assert not holds_persons(field, [restaurants, None])
    assert holds_persons(field, [restaurants, police])


def test_a_place_holder_is_not_what_a_prompt_says() -> None:
    assert not holds_persons("name", [Template("{{ input1.officer }} {{ input2.officer }}", VARIABLES)])
