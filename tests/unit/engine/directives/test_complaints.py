"""What the checker says of proposals, for a model to do better in a second round."""

from __future__ import annotations

import pytest
from directive_cases import FACTS, rewritten_cases

from engine.directives.registry import directive

CASES = {case.directive: case for case in rewritten_cases()}
TEXT = "{{ input.text }} "


def said_of(name, **changes):
    case, one = CASES[name], directive(name)
    site = one.matches(case.before, case.place, FACTS)
    params = one.read_params({**case.params, **changes})
    return one.check_params(site, params)


@pytest.mark.parametrize(
    ("name", "changes", "said"),
    [
        ("document_chunking", {"prompt": TEXT}, "prompt must show the field 'text_chunk_rendered'"),
        ("document_chunking", {"prompt": "{{ input.text_chunk_rendered }}"}, 'must keep the user\'s term "sustained"'),
        ("document_chunking", {"merge_prompt": "{% for p in inputs %}{{ p.who }}{% endfor %}"}, "the field 'who'"),
        ("document_chunking", {"merge_prompt": "Unite what the parts say."}, "must show the field 'officers'"),
        ("metadata_before_split", {"fields": ["kind"]}, "there is a field 'kind' already"),
        ("metadata_before_split", {"fields": ["about", "about"]}, "each must have a name of its own"),
        ("header_lineage", {"headers": False, "header_prompt": ""}, "headers or summaries must be true"),
        ("chunk_filtering", {"prompt": '{{ input.text_chunk_rendered }} Is "force" used?'}, "must say so"),
        ("multi_level_aggregation", {"extra_keys": ["officer"]}, "'officer' is none of filename, precinct, act"),
        ("gleaning_map", {"num_rounds": 9}, "num_rounds must be 1 to 3"),
        ("gleaning_map", {"validation_prompt": "Is {{ output.who }} right?"}, "reads the field 'who'"),
        ("duplicate_key_resolution", {"keys": []}, "name at least one"),
        ("chaining", {"links": []}, "'clauses' must be answered by one link"),
        ("isolating", {"parts": [{"fields": ["clauses"], "prompt": TEXT, "kinds": []}]}, "two or more are needed"),
        (
            "isolating",
            {"parts": [{"fields": ["dates"], "prompt": TEXT, "kinds": []}] * 2},
            "'dates' is none of clauses",
        ),
        ("pre_aggregation", {"map_prompt": "What matters?"}, "map_prompt must show the field"),
        ("pre_joining", {"comparison_prompt": "Do they fit?"}, "comparison_prompt must show the field"),
        ("second_reading", {"item_prompt": "{{ input.text }} Is it so?"}, "must show the field 'officers'"),
        ("clarify_instructions", {"prompt": 'Who has a "sustained" finding?'}, "must show the field 'text'"),
        ("gleaning_map", {"validation_prompt": "Is anyone missing in {{ officers }}?"}, "Write {{ output.officers }}."),
        (
            "document_chunking",
            {"merge_prompt": "Unite what the parts say: {{ officers }}"},
            "Write {% for one in inputs %}{{ one.officers }}{% endfor %}.",
        ),
        (
            "chaining",
            {"links": [{"fields": ["clauses"], "prompt": "Find the clauses."}] * 2},
            "prompt 1 shows no field",
        ),
        (
            "isolating",
            {"parts": [{"fields": ["clauses"], "prompt": "What is it?", "kinds": []}] * 2},
            "write {{ input.text }} in it",
        ),
        (
            "isolating",
            {"parts": [{"fields": ["clauses"], "prompt": TEXT + "Which?", "kinds": []}] * 2},
            "two are the same",
        ),
        ("second_reading", {"list_prompt": 'Who has a "sustained" finding?'}, "list_prompt must show the field 'text'"),
        ("second_reading", {"item_prompt": TEXT + "{{ input.officers }}"}, "item_prompt asks nothing"),
        ("switch_model", {"model": "gpt"}, "'gpt' is none of qwen2.5-coder-3b"),
    ],
)
def test_a_bad_proposal_is_told_what_to_do_better(name, changes, said):
    found = said_of(name, **changes)
    assert any(said in line for line in found), found


def test_a_number_out_of_range_is_told_the_range():
    [found] = said_of("document_chunking", chunk_tokens=0)
    assert found == "chunk_tokens must be 1638 to 6554, not 0."
