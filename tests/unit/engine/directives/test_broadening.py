"""Questions for what meets a condition, asked for all of its kind: the expected ones were written by a person."""

from __future__ import annotations

import pytest

from engine.directives.verified_items import broadened
from engine.language.templates import Template

NAMED = "named in it, each once, as it is written there"


@pytest.mark.parametrize(
    ("asked", "broad"),
    [
        ("List every police officer who lied according to it.", f"List every police officer {NAMED}."),
        ("Please list all drugs, which were stopped, with doses.", f"Please list all drugs {NAMED}."),
        ("Find the companies or banks\nthat signed it; say why.", f"Find the companies or banks {NAMED}."),
        ("Identify the firms with which it was made.", f"Identify the firms {NAMED}."),
        ("list adverse reactions caused by the drug", f"list adverse reactions {NAMED}."),
        ("List all alleged violations that were sustained.", f"List all alleged violations {NAMED}."),
        ("Read it. Then name officers facing charges.", f"Read it. Then name officers {NAMED}."),
        (
            "List every officer who lied: {{ input.text }} And be exact.",
            f"List every officer {NAMED}: {{{{ input.text }}}} And be exact.",
        ),
    ],
)
def test_the_condition_goes(asked, broad):
    assert broadened(Template(asked)) == broad + "\n"


@pytest.mark.parametrize(
    "asked",
    [
        "List every officer.",
        "List all alleged violations.",
        "Which officers lied?",
        "Who lied, and who listed it?",
        "List the medicines the patient was prescribed.",
        "List any officer, deputy or other person who lied.",
        "Say what was found.",
        "{{ input.text }}",
    ],
)
def test_a_question_without_a_condition_that_is_understood_is_left_alone(asked):
    assert broadened(Template(asked)) is None


def test_definitions_go_and_what_is_shown_stays():
    prompt = """Analyze this record:

{{ input.text }}

List every officer who lied. A lie is a statement
that its speaker knows to be false.

It counts only when found.

{% for entry in input.entries %}
- {{ entry.note }}
{% endfor %}

Be careful."""
    assert (
        broadened(Template(prompt))
        == f"""Analyze this record:

{{{{ input.text }}}}

List every officer {NAMED}.

{{% for entry in input.entries %}}
- {{{{ entry.note }}}}
{{% endfor %}}
"""
    )
