"""Lists that have a least number of items: a part of the answer need not have so many."""

from __future__ import annotations

from engine.directives.base import Blocked, Facts, Place, Site
from engine.directives.registry import directive
from engine.language.schema import ListOf
from engine.loader import parse_pipeline

KINDS = "Which:\\n- theft\\n- assault\\n- fraud\\n- arson\\n- perjury\\n- libel\\n- bribery"
PLAN = parse_pipeline(f"""
datasets: {{records: {{type: folder, path: in}}}}
operations:
  - {{name: find, type: map, prompt: "{{{{ input.text }}}}\\n{KINDS}",
     output: {{schema: {{acts: "list[string, 6..6]"}}}}}}
pipeline: {{steps: [{{name: report, input: records, operations: [find]}}]}}
""").plan


def applied(name, **changes):
    one = directive(name)
    site = one.matches(PLAN, Place("report", 0), Facts())
    assert isinstance(site, Site)
    return one.apply(site, one.read_params({**one.default_params(site).to_json(), **changes}))


def test_parts_and_chunks_may_have_fewer():
    parts = applied("isolating").operator("find").schema.fields
    assert [(field.type.least, field.type.most) for field in parts] == [(0, 4)] * 3
    for merge in ("code", "model"):
        prompt = "{% for part in inputs %}{{ part.acts }}{% endfor %} Unite them." if merge == "model" else ""
        plan = applied("document_chunking", merge=merge, merge_prompt=prompt)
        [part] = plan.operator("find").schema.fields
        assert (part.type.least, part.type.most) == (0, 6)
    [whole] = plan.operator("find_merged").schema.fields
    assert isinstance(whole.type, ListOf)
    assert whole.type.least == 6


def test_items_are_not_read_again_where_none_may_go():
    for name in ("second_reading", "verified_items"):
        assert isinstance(directive(name).matches(PLAN, Place("report", 0), Facts()), Blocked)
