import pytest

from engine.directives.prompt_checks import ProposedPrompt, complaints, definitions_of, lost_definitions
from engine.language.templates import Template

FIELDS = frozenset({"text", "officer"})


def complaint(text, **more):
    return list(complaints(ProposedPrompt(name="prompt", text=text, fields=FIELDS, **more)))


def test_a_good_prompt_has_nothing_against_it():
    assert complaint("{{ input.text }} What did {{ input.officer }} do?", shows=frozenset({"text"})) == []


def test_fields_that_are_not_there_are_named_with_those_that_are():
    [found] = complaint("{{ input.texts }} Who is it?")
    assert found.startswith("prompt reads the field 'texts', which is not there.")
    assert "text" in found.split("not there.")[1]


def test_where_not_all_fields_are_known_any_may_be_read():
    assert list(complaints(ProposedPrompt(name="prompt", text="{{ input.anything }} Who is it?"))) == []


@pytest.mark.parametrize("text", ["{{ input.text", "{{ text }} Who is it?", "{% include 'x' %}"])
def test_what_is_no_prompt_is_said_to_be_none(text):
    [found] = complaint(text)
    assert found.startswith("prompt: ")


def test_a_field_that_must_be_shown():
    assert complaint("Who is it?", shows=frozenset({"text"})) == [
        "prompt must show the field 'text': write it in two pairs of braces."
    ]


def test_a_variable_that_must_be_used():
    [found] = complaint("Summarise {{ reduce_key.officer }}.", variables=("inputs", "reduce_key"), uses="inputs")
    assert found == "prompt must use 'inputs', or it is the same for all."


def test_a_prompt_about_a_part_says_so():
    told = "prompt shows only a part of a document and must say so."
    assert complaint("{{ input.text }} Who is it?", partial=True) == [told]
    assert complaint("{{ input.text }} Who is it in this section?", partial=True) == []
    assert complaint("{{ input.text }} Who departs?", partial=True) == [told]  # a part of a word is no word


def test_terms_in_quotation_marks_are_definitions():
    user = Template('A finding is "sustained" when “the board” confirmed it. {{ input["text"] }} A "sustained" one?')
    assert definitions_of(user) == ("sustained", "the board")
    assert lost_definitions(user, ["A Sustained finding", "of the board"]) == []
    assert lost_definitions(user, ["a sustained finding"]) == [
        'The prompts must keep the user\'s term "the board" and what it means.'
    ]


def test_a_prompt_may_be_as_short_as_the_user_s_own():
    prompt = ProposedPrompt(name="part_prompt", text="{{ input.gist }} Who?", fields=frozenset({"gist"}))
    said = ["part_prompt asks nothing: say in words what is to be done."]
    assert list(complaints(prompt)) == said
    assert list(complaints(prompt, Template("{{ input.text }} Whom?"))) == said
    assert list(complaints(prompt, Template("{{ input.text }} Who?"))) == []
