"""Rewritten plans run: no document is lost, and code puts together what it should."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from functools import partial
from typing import ClassVar

from scripted_model import ScriptedBackend
from scripted_run import Bench, pipeline, prompt_of, write_texts

from engine.directives.base import Facts, Place
from engine.directives.registry import directive

TEXTS = {
    "a.txt": "Varrick struck the man.\n\nTullock watched all day.\n\nAshgrove lied to us.",
    "b.txt": "Nobody did it all.\n\nIt rained on them.",
}
NAMES = ("Varrick", "Tullock", "Ashgrove")
FIND = """\
  - {name: find, type: map, prompt: "{{ input.text }}\\n\\nWho is named?", output: {schema: {officers: "list[string]"}}}
"""
KINDS = """\
  - {name: find, type: map, prompt: "{{ input.text }}\\n\\nWho:\\n- Varrick\\n- Tullock\\n- Ashgrove\\n- Tulock",
     output: {schema: {officers: "list[string]"}}}
"""
KEEP = """\
  - {name: keep, type: filter, prompt: "{{ input.text }}\\n\\nDoes somebody lie?", output: {schema: {lies: boolean}}}
"""


def rewritten_rows(folder, operations, name, answer, context_tokens=40, backend=ScriptedBackend, at=0):
    loaded = pipeline(write_texts(folder / "records", TEXTS), operations)
    plan, one, facts = loaded.plan, directive(name), Facts(context_tokens=context_tokens)
    site = one.matches(plan, Place("all", at), facts)
    after = one.apply(site, one.default_params(site))
    desk = Bench(folder, backend=backend(answer))
    result = asyncio.run(desk.run(type(loaded)(after, directory=loaded.directory)))
    return desk, desk.values(result)


def run_rewritten(*given, **named):
    desk, rows = rewritten_rows(*given, **named)
    return desk, {values["filename"]: values for values in rows}


def named_in(text):
    return [name for name in NAMES if name in text]


def main_chunk(request):
    found = re.search(r"--- Begin Main Chunk ---\n(.*)\n--- End", prompt_of(request), re.DOTALL)
    return found[1] if found else ""


def test_chunks_of_a_map_are_put_together_by_code(tmp_path):
    desk, rows = run_rewritten(
        tmp_path, FIND, "document_chunking", lambda request: {"officers": named_in(main_chunk(request))}
    )
    assert rows["a.txt"]["officers"] == ["Varrick", "Tullock", "Ashgrove"]
    assert rows["b.txt"]["officers"] == []
    assert len(desk.calls) > 2  # the texts were cut
    assert set(rows["a.txt"]) == {"filename", "path", "text", "pages", "kind", "officers"}


def test_a_row_stays_where_one_of_its_chunks_does(tmp_path):
    _, rows = run_rewritten(
        tmp_path, KEEP, "document_chunking", lambda request: {"lies": "lied" in main_chunk(request)}
    )
    assert list(rows) == ["a.txt"]
    assert rows["a.txt"]["text"] == TEXTS["a.txt"]


class Sure(ScriptedBackend):
    """A model that says yes of every item, with more or less conviction."""

    conviction: ClassVar[dict[str, float]] = {"Varrick": 0.95, "Tullock": 0.6, "Ashgrove": 0.9}

    async def ask(self, request):
        reply = await super().ask(request)
        about = re.search(r'answer: (?:{"name":")?(\w+)', prompt_of(request))
        if about is None:
            return reply
        share = self.conviction.get(about[1], 0.6)
        return replace(reply, probabilities={"/officers_holds": share})


def answer_of_items(request):
    """List all names of a text and others; quote a sentence but for "Nobody"; say yes of everything."""
    told, asked = prompt_of(request), request.schema["properties"]
    if "officers" in asked:
        more = ["Nobody", "It", "Rain"] if "rained" in told else ["We", "Us", "Day"]
        return {"officers": [*named_in(told), *more]}
    if "officers_evidence" in asked:
        return {"officers_evidence": None if "candidate: Nobody" in told else told.split(".")[0] + "."}
    return {"officers_holds": "Yes"}


def test_a_document_stays_though_none_of_its_candidates_holds(tmp_path):
    desk, rows = run_rewritten(tmp_path, FIND, "second_reading", answer_of_items, backend=Sure)
    # 0.95, 0.9 and six times 0.6, for one of nine has no sentence: the mean log-odds is 0.95 (0.72).
    assert rows["a.txt"]["officers"] == ["Varrick", "Ashgrove"]
    assert rows["b.txt"]["officers"] == []
    assert set(rows["b.txt"]) == {"filename", "path", "text", "pages", "kind", "officers"}
    decided = [re.search(r"answer: (\w+)", prompt_of(request)) for request in desk.calls]
    assert "Nobody" not in {one[1] for one in decided if one}


def test_items_of_which_the_model_is_surer_than_on_average_stay(tmp_path):
    # The other six are 0.6: the mean log-odds is 0.88 (0.71).
    desk, rows = run_rewritten(tmp_path, FIND, "verified_items", answer_of_items, backend=Sure)
    assert rows["a.txt"]["officers"] == ["Varrick", "Ashgrove"]
    assert rows["b.txt"]["officers"] == []
    assert set(rows["b.txt"]) == {"filename", "path", "text", "pages", "kind", "officers"}
    asked = [prompt_of(request) for request in desk.calls]
    listing = next(one for one in asked if "Varrick struck" in one and "Does this belong" not in one)
    # Behind the user's own words, so that they and the text are read once.
    head = listing[: listing.index("Who is named?") + len("Who is named?")]
    assert sum(one.startswith(head) for one in asked) == 1 + 6


def test_records_of_which_the_model_is_surer_than_on_average_stay(tmp_path):
    deeds = FIND.replace("list[string]", "list[{name: string, deed: string?}]").replace("Who is named?", "Who lied?")

    def answer(request):
        if "officers" not in request.schema["properties"]:
            return {"officers_holds": "Yes"}
        told = prompt_of(request)
        return {"officers": [{"name": one, "deed": None} for one in [*named_in(told), "We", "Us", "Day"]]}

    _, rows = run_rewritten(tmp_path, deeds, "verified_items", answer, backend=Sure)
    # 0.95, 0.9 and seven times 0.6: the mean log-odds is 0.89 (0.71).
    assert rows["a.txt"]["officers"] == [{"name": "Varrick", "deed": None}, {"name": "Ashgrove", "deed": None}]
    assert rows["b.txt"]["officers"] == []


def test_a_condition_is_asked_about_each_person_and_not_in_the_list(tmp_path):
    asked = "{{ input.text }}\\n\\nList every officer who lied. A lie is false."
    guilty = f"""\
  - {{name: find, type: map, prompt: "{asked}", output: {{schema: {{officers: "list[string, 2]"}}}}}}
"""
    others = ["Hale", "Cole", "Finch", "Marsh", "Quill"]

    def answer(request):
        if "officers" in request.schema["properties"]:
            return {"officers": [*named_in(prompt_of(request)), "the sergeants", *others]}
        return {"officers_holds": "Yes"}

    desk, rows = run_rewritten(tmp_path, guilty, "verified_items", answer, backend=Sure)
    # 0.95, 0.9 and eleven times 0.6: the mean log-odds is 0.74 (0.68).
    assert rows["a.txt"]["officers"] == ["Varrick", "Ashgrove"]
    assert rows["b.txt"]["officers"] == []
    told = [prompt_of(request) for request in desk.calls]
    lists = [one for one in told if "Does this belong" not in one]
    assert ["\n\nList every officer named in it, each once, as it is written there.\n" in one for one in lists] == [
        True
    ] * 2
    assert not any("lied." in one.partition("List every")[2] for one in lists)
    about = [found[1] for one in told if (found := re.search(r"A lie is false.\s+Does this belong .*: (.+)", one))]
    assert sorted(about) == sorted([*NAMES, *others, *others])  # the sergeants are no person


def test_lists_of_separate_kinds_are_joined(tmp_path):
    def answer(request):
        [field] = request.schema["properties"]
        text, _, asked = prompt_of(request).partition("Who:")
        return {field: [name for name in named_in(text) if name in asked]}

    desk, rows = run_rewritten(tmp_path, KINDS, "isolating", answer)
    assert rows["a.txt"]["officers"] == ["Varrick", "Tullock", "Ashgrove"]
    assert len(desk.calls) == 2 * len(TEXTS)


def test_items_that_stand_nowhere_in_the_text_are_left_out(tmp_path):
    made_up = ["Varrick", "varrick", "Varr", "Nobody Else", "", "watched  all"]
    _, rows = run_rewritten(tmp_path, FIND, "located_items", lambda request: {"officers": made_up})
    assert rows["a.txt"]["officers"] == ["Varrick", "varrick", "watched  all"]
    assert rows["b.txt"]["officers"] == []


def test_items_are_looked_up_in_texts_of_any_length_hyphens_and_accents(tmp_path, monkeypatch):
    long = "It rained on them all day. " * 4_000  # 108,000 characters: more than an expression may make
    monkeypatch.setitem(TEXTS, "a.txt", f"{long}Docket CR\u20111017, Jose\u0301 Varrick.")
    listed = ["CR-1017", "CR-101", "José Varrick", "Varrick José"]
    reader = partial(ScriptedBackend, context_tokens=100_000)
    _, rows = run_rewritten(tmp_path, FIND, "located_items", lambda request: {"officers": listed}, backend=reader)
    assert rows["a.txt"]["officers"] == ["CR-1017", "José Varrick"]


def test_a_kind_is_held_to_the_listed_ones_and_a_copied_text_to_sentences(tmp_path):
    kinds = "1. Force: hit\\n2. Lie: lied\\n3. Theft: stole\\n4. Sleep: slept"
    schema = 'acts: "list[{act_type: string, quote: string}]"'
    prompt = f"{{{{ input.text }}}}\\n\\nWhich acts:\\n{kinds}"
    operations = f'  - {{name: find, type: map, prompt: "{prompt}", output: {{schema: {{{schema}}}}}}}\n'

    def answer(request):
        item = request.schema["properties"]["acts"]["items"]["properties"]
        assert item["act_type"]["enum"] == ["Force", "Lie", "Theft", "Sleep"]
        return {"acts": [{"act_type": "Lie", "quote": item["quote"]["enum"][0]}]}

    _, rows = run_rewritten(tmp_path, operations, "held_types", answer, context_tokens=2000)
    assert rows["a.txt"]["acts"] == [{"act_type": "Lie", "quote": "Varrick struck the man."}]
