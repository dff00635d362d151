"""The sizes of chunks and what is shown around them, as the paper has them (4.2.1), by arithmetic."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.directives.base import Blocked, Facts, Place, Site
from engine.directives.document_chunking import DocumentChunking
from engine.directives.registry import directive
from engine.loader import parse_pipeline
from engine.optimizer.screening import MOST_VARIANTS, in_turn, other_sizes

ONE = DocumentChunking()
PLAN = parse_pipeline("""
datasets: {records: {type: folder, path: in}}
operations:
  - {name: find, type: map, prompt: "Who lied? {{ input.text }}", output: {schema: {officers: "list[string]"}}}
pipeline: {steps: [{name: report, input: records, operations: [find]}]}
""").plan


def test_a_prompt_that_calls_the_row_by_another_name_is_left_alone():
    node = PLAN.operators[0]
    prompt = replace(node.prompt, text="{{ input.text }}{% set i = input %}{{ i.text }}")
    plan = replace(PLAN, operators=(replace(node, prompt=prompt),))
    blocked = ONE.matches(plan, Place("report", 0), Facts(context_tokens=10_000, field_tokens={"text": 60_000}))
    assert isinstance(blocked, Blocked)
    assert "cannot be rewritten" in blocked.reason


def tried(context, document):
    """The chunks' tokens, and how many are shown before and after each, in the order in which they are tried."""
    facts = Facts(context_tokens=context, field_tokens={"text": document})
    site = ONE.matches(PLAN, Place("report", 0), facts)
    assert isinstance(site, Site)
    found = ONE.variants(site)
    first, further = in_turn([(ONE, site)]), other_sizes([(ONE, site)])
    assert [params for _, params in [*first, *further]] == list(found)
    assert len(first) == min(MOST_VARIANTS, len(found))
    return [(params.chunk_tokens, params.previous, params.following) for params in found]


def test_a_document_longer_than_the_context_is_cut_into_shares_of_the_context():
    """20, 40, 60 and 80 % of 10,000; the document has 60,000.

    2,000: 30 chunks, root 5: to five before and two after; 7,500 tokens hold three. 4,000: only the chunk itself.
    """
    assert tried(10_000, 60_000) == [
        *[(2_000, 0, 0), (2_000, 1, 0), (4_000, 0, 0)],
        *[(6_000, 0, 0), (8_000, 0, 0)],
        *[(2_000, 1, 1), (2_000, 2, 0)],
    ]


def test_a_shorter_document_is_cut_into_shares_of_its_own_length():
    """20 to 80 % of 3,000; the prompt has room for 6,000.

    600: 5 chunks, root 2: two before, one after. 1,200: 2 chunks, root 1: the base windows. 2,400 with one before and
    one after are 7,200, too long.
    """
    found = tried(8_000, 3_000)
    assert found[:3] == [(600, 0, 0), (600, 1, 0), (1_200, 0, 0)]
    assert found[3:5] == [(1_800, 0, 0), (2_400, 0, 0)]
    assert found[5:8] == [(1_200, 1, 0), (1_800, 1, 0), (2_400, 1, 0)]
    assert found[8:11] == [(600, 1, 1), (1_200, 1, 1), (1_800, 1, 1)]
    assert found[11:] == [(600, 2, 0), (600, 2, 1)]


def test_the_papers_largest_windows_are_tried_where_a_prompt_has_room_for_them():
    """A context of 100,000 and a document of 800,000: 40 chunks of 20,000, root 6; 75,000 hold three chunks."""
    assert max(previous for _, previous, _ in tried(100_000, 800_000)) == 2
    small = tried(100_000, 20_000)  # 20 % are 4,000: 5 chunks, root 2
    assert {(p, f) for size, p, f in small if size == 4_000} == {(0, 0), (1, 0), (1, 1), (2, 0), (2, 1)}


@pytest.mark.parametrize("context", [4_096, 8_192, 32_768, 131_072])
@pytest.mark.parametrize("document", [900, 5_000, 40_000, 1_000_000])
def test_every_size_is_tried_alone_and_none_twice(context, document):
    found = tried(context, document)
    sizes = {size for size, _, _ in found}
    longest = min(context, document)
    assert all(0.2 * longest - 1 <= size <= 0.8 * longest + 1 for size in sizes)
    assert {(size, 0, 0) for size in sizes} <= set(found)
    assert len(found) == len(set(found))


def test_a_field_that_is_no_text_in_every_row_is_not_cut():
    facts = Facts(not_always_text=frozenset({"text"}))
    assert isinstance(directive("document_chunking").matches(PLAN, Place("report", 0), Facts()), Site)
    assert isinstance(directive("document_chunking").matches(PLAN, Place("report", 0), facts), Blocked)
