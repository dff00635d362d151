import json

import pytest
from scripted_tools import ScriptedTools, prompt_of, replaced, rows_of, run, template, values_of

from engine.errors import PipelineError
from engine.language.binding import bind, unbind
from engine.language.expressions import Expression
from engine.language.position import Where
from engine.operators.asking import Gleaning
from engine.operators.extract import Extract
from engine.rows import Span
from models.errors import ModelCrashed

# The sample of DocETL's page on extract: what goes in, and what comes out.
ENGAGEMENT = (
    "The analysis revealed three primary patterns of user engagement. First, 68% of participants reported daily "
    "interaction with the platform, significantly higher than previous industry benchmarks (p<0.01). Second, user "
    "retention showed strong correlation with personalization features (r=0.72). Finally, demographic factors such as "
    "age and technical proficiency were not significant predictors of engagement, contradicting prior research in "
    "this domain."
)
DISCUSSION = (
    "These findings suggest that platform design priorities should emphasize personalization capabilities over "
    "demographic targeting. The high daily engagement rates indicate market readiness for similar applications, while "
    "the lack of demographic effects points to broad accessibility across user segments."
)
REPORT = (
    "EXPERIMENTAL METHODS\n\nThe study utilized a mixed-methods approach combining quantitative surveys (n=230) and "
    "qualitative interviews (n=42) with participants from diverse demographic backgrounds. Data collection occurred "
    f"between January and March 2023.\n\nRESULTS\n\n{ENGAGEMENT}\n\nDISCUSSION\n\n{DISCUSSION}\n\nLIMITATIONS\n\nThe "
    "study was limited by its focus on early adopters, which may not represent the broader potential user base. "
    "Additionally, the three-month timeframe may not capture seasonal variations in user behavior."
)
LETTER = "Dear Sir,\nSgt. Varrick struck him.\n\nHe was cleared.\nSgt. Varrick struck him.\nYours,\nK.\n"


def extract(**settings):
    settings = {"prompt": template("Find the acts."), "document_keys": ("text",), **settings}
    return Extract(name="findings", **settings)


def ranges(*pairs):
    return {"line_ranges": [{"start_line": first, "end_line": last} for first, last in pairs]}


def number_of(request, words):
    """The number of the shown line that holds these words."""
    lines = (line.split(": ", 1) for line in prompt_of(request).splitlines() if ": " in line)
    return next(int(number) for number, text in lines if words in text)


async def test_the_sample_of_docetls_page():
    def reply(request):
        paragraphs = [("The analysis", "this domain."), ("These findings", "user segments.")]
        return ranges(*((number_of(request, first), number_of(request, last)) for first, last in paragraphs))

    row = {"report_id": "R-2023-001", "report_text": REPORT}
    outcome = await run(extract(document_keys=("report_text",)), rows_of(row), ScriptedTools(reply))
    assert values_of(outcome) == [{**row, "report_text_extracted_findings": f"{ENGAGEMENT}\n\n{DISCUSSION}"}]


async def test_lines_are_shown_with_the_numbers_of_the_document_and_can_name_no_others():
    row = replaced(rows_of({"text": LETTER}, document="d1")[0], span=Span(11, 17))
    tools = ScriptedTools(lambda _: ranges((12, 12)))
    outcome = await run(extract(format_extraction=False), [row], tools)
    assert prompt_of(tools.requests[0]).startswith("11: Dear Sir,\n12: Sgt. Varrick struck him.\n13: \n14: He was")
    item = tools.requests[0].schema["properties"]["line_ranges"]["items"]["properties"]
    assert item["start_line"] == item["end_line"] == {"type": "integer", "minimum": 11, "maximum": 17}
    assert outcome.rows[0].values["text_extracted_findings"] == ["Sgt. Varrick struck him."]
    assert outcome.rows[0].copied == {"text_extracted_findings[0]": (Span(12, 12),)}
    assert (outcome.rows[0].document_id, outcome.rows[0].span) == ("d1", Span(11, 17))


async def test_the_text_is_shared_by_all_that_is_extracted_from_it():
    tools = ScriptedTools(lambda _: ranges())
    await run(extract(), rows_of({"text": "A long line of a letter.\n" * 20}), tools)
    assert tools.requests[0].segments[1].shared
    assert tools.requests[0].segments[1].text.endswith("20: A long line of a letter.")


@pytest.mark.parametrize(
    ("named", "texts", "spans"),
    [
        # whole runs of lines, blank lines at their ends left out, verbatim inside
        ([(2, 4)], ["Sgt. Varrick struck him.\n\nHe was cleared."], [[(2, 4)]]),
        ([(3, 4)], ["He was cleared."], [[(4, 4)]]),
        # sorted, overlapping ones joined, backwards ones turned round
        ([(6, 7), (1, 1)], ["Dear Sir,", "Yours,\nK."], [[(1, 1)], [(6, 7)]]),
        ([(1, 2), (2, 4)], ["Dear Sir,\nSgt. Varrick struck him.\n\nHe was cleared."], [[(1, 4)]]),
        ([(4, 3)], ["He was cleared."], [[(4, 4)]]),
        # neighbours are two passages; the same text twice is one, found at two places
        ([(6, 6), (7, 7)], ["Yours,", "K."], [[(6, 6)], [(7, 7)]]),
        ([(2, 2), (5, 5)], ["Sgt. Varrick struck him."], [[(2, 2), (5, 5)]]),
        ([(3, 3)], [], []),
        ([], [], []),
    ],
)
async def test_named_lines_are_copied_verbatim_with_their_lines(named, texts, spans):
    rows = rows_of({"text": LETTER}, document="d1")
    outcome = await run(extract(format_extraction=False), rows, ScriptedTools(lambda _: ranges(*named)))
    assert outcome.rows[0].values["text_extracted_findings"] == texts
    expected = {f"text_extracted_findings[{i}]": tuple(Span(*s) for s in found) for i, found in enumerate(spans)}
    assert outcome.rows[0].copied == expected
    joined = await run(extract(), rows, ScriptedTools(lambda _: ranges(*named)))
    assert joined.rows[0].values["text_extracted_findings"] == "\n\n".join(texts)
    assert joined.rows[0].copied.get("text_extracted_findings", ()) == tuple(Span(*s) for found in spans for s in found)


@pytest.mark.parametrize(
    ("document", "span"),
    [(None, None), ("d1", Span(1, 3))],  # no document; a text that is not the lines of its row (a summary of them)
)
async def test_a_text_that_is_no_lines_of_a_document_has_no_lines(document, span):
    row = replaced(rows_of({"text": LETTER}, document=document)[0], span=span)
    outcome = await run(extract(), [row], ScriptedTools(lambda _: ranges((1, 1))))
    assert (outcome.rows[0].values["text_extracted_findings"], outcome.rows[0].copied) == ("Dear Sir,", {})


async def test_a_line_that_does_not_exist_fails_the_row():
    outcome = await run(extract(), rows_of({"text": LETTER}), ScriptedTools(lambda _: ranges((1, 99))))
    assert "end_line is 99, at least 1 wanted and at most 7 allowed" in outcome.failed[0].error


async def test_a_paragraph_in_one_line_is_shown_in_pieces_and_copied_whole():
    sentence = "He went on and on and on about the matter for as long as anybody in the room would listen to him."
    text = " ".join([sentence] * 4)
    rows = rows_of({"text": f"Title\n{text}\nEnd"}, document="d1")
    tools = ScriptedTools(lambda _: ranges((3, 4)))
    outcome = await run(extract(), rows, tools)
    assert prompt_of(tools.requests[0]).startswith(f"1: Title\n2: {sentence}\n3: {sentence}\n4: {sentence}\n5: ")
    assert outcome.rows[0].values["text_extracted_findings"] == f"{sentence} {sentence}"
    assert outcome.rows[0].copied == {"text_extracted_findings": (Span(2, 2),)}


async def test_a_long_text_is_read_in_windows_and_a_passage_across_them_is_one():
    lines = [f"Line {number} says {number}." for number in range(1, 101)]
    rows = rows_of({"text": "\n".join(lines)}, document="d1")
    seen = []

    def reply(request):
        bounds = request.schema["properties"]["line_ranges"]["items"]["properties"]["start_line"]
        seen.append((bounds["minimum"], bounds["maximum"]))
        # the model finds everything from line 10 to line 90, as far as it can see
        first, last = max(10, bounds["minimum"]), min(90, bounds["maximum"])
        return ranges((first, last)) if first <= last else ranges()

    tools = ScriptedTools(reply, context_tokens=450, max_tokens=100)
    outcome = await run(extract(), rows, tools)
    assert outcome.rows[0].values["text_extracted_findings"] == "\n".join(lines[9:90])
    assert outcome.rows[0].copied == {"text_extracted_findings": (Span(10, 90),)}
    assert len(seen) > 1
    assert [first for first, _ in seen] == [1, *(last + 1 for _, last in seen[:-1])]  # every line once
    assert seen[-1][1] == 100
    assert all("part of a longer text" in prompt_of(request) for request in tools.requests)


async def test_instructions_that_leave_no_room_for_a_line_are_an_error_that_says_so():
    node = extract(prompt=template("word " * 400))
    outcome = await run(node, rows_of({"text": LETTER}), ScriptedTools(lambda _: ranges(), context_tokens=400))
    assert "leave no room for the text" in outcome.failed[0].error


@pytest.mark.parametrize("text", ["", "  \n\n"])
async def test_an_empty_text_holds_nothing_and_asks_no_model(text):
    tools = ScriptedTools(lambda _: ranges())
    assert values_of(await run(extract(), rows_of({"text": text}), tools))[0]["text_extracted_findings"] == ""
    empty = await run(extract(format_extraction=False, extraction_method="regex"), rows_of({"text": text}), tools)
    assert values_of(empty)[0]["text_extracted_findings"] == []
    assert tools.requests == []


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"text": None}, "'text' is null, not text"),
        ({"text": ["a"]}, "is a list"),
        ({"body": "b"}, "there is no field"),
    ],
)
async def test_what_is_no_text_fails_its_row_alone(row, message):
    rows = rows_of(row, {"text": LETTER})
    outcome = await run(extract(), rows, ScriptedTools(lambda _: ranges((1, 1))))
    assert message in outcome.failed[0].error
    assert [r.values["text"] for r in outcome.rows] == [LETTER]


async def test_several_fields_and_a_suffix_of_ones_own():
    node = extract(
        prompt=template("Find what {{ input.who }} did."),
        document_keys=("text", "notes"),
        extraction_key_suffix="_acts",
    )
    row = {"who": "Varrick", "text": "He fled.", "notes": "He hid.\nHe slept."}
    tools = ScriptedTools(lambda request: ranges((1, 1)))
    outcome = await run(node, rows_of(row), tools)
    assert values_of(outcome) == [{**row, "text_acts": "He fled.", "notes_acts": "He hid."}]
    assert all("Find what Varrick did." in prompt_of(request) for request in tools.requests)
    assert node.traits().reads == {"who", "text", "notes"}
    assert node.written_fields() == ("text_acts", "notes_acts")


async def test_one_field_that_fails_fails_the_row():
    def reply(request):
        if "He hid" in prompt_of(request):
            raise ModelCrashed("gone")
        return ranges((1, 1))

    outcome = await run(
        extract(document_keys=("text", "notes")),
        rows_of({"text": "He fled.", "notes": "He hid."}),
        ScriptedTools(reply),
    )
    assert "gone" in outcome.failed[0].error


async def test_validation_sees_what_was_extracted_and_asks_again():
    replies = iter([ranges((1, 1)), ranges((4, 4))])
    node = extract(validate=(Expression.parse('"cleared" in output["text_extracted_findings"]'),))
    tools = ScriptedTools(lambda _: next(replies))
    outcome = await run(node, rows_of({"text": LETTER}), tools)
    assert outcome.rows[0].values["text_extracted_findings"] == "He was cleared."
    assert '"Dear Sir,"' in tools.requests[1].segments[-1].text


async def test_validation_of_a_text_in_windows_is_about_all_of_it():
    lines = "\n".join(f"Line {number} says {number}." for number in range(1, 101))
    node = extract(format_extraction=False, validate=(Expression.parse("len(output.text_extracted_findings) == 1"),))

    def reply(request):
        bounds = request.schema["properties"]["line_ranges"]["items"]["properties"]["start_line"]
        return ranges((50, 50)) if bounds["minimum"] <= 50 <= bounds["maximum"] else ranges()

    tools = ScriptedTools(reply, context_tokens=450, max_tokens=100)
    outcome = await run(node, rows_of({"text": lines}), tools)
    assert values_of(outcome)[0]["text_extracted_findings"] == ["Line 50 says 50."]
    none = await run(node, rows_of({"text": lines}), ScriptedTools(lambda _: ranges(), context_tokens=450))
    assert "len(output.text_extracted_findings) == 1" in none.failed[0].error


async def test_gleaning_judges_the_text_not_the_numbers():
    def reply(request):
        if "should_refine" in request.schema["properties"]:
            return {"should_refine": "Dear" in prompt_of(request).split("Is this it?")[1], "improvements": "Not that."}
        return ranges((4, 4) if "Not that." in prompt_of(request) else (1, 1))

    wish = template("Is this it? {{ output.text_extracted_findings }}", "output", "input")
    node = extract(gleaning=Gleaning(validation_prompt=wish))
    outcome = await run(node, rows_of({"text": LETTER}), ScriptedTools(reply))
    assert outcome.rows[0].values["text_extracted_findings"] == "He was cleared."


async def test_patterns_are_validated_by_what_they_match():
    replies = iter([["Dear"], ["cleared"]])
    node = by_regex(validate=(Expression.parse('"cleared" in output.text_extracted_findings'),))
    tools = ScriptedTools(lambda _: {"patterns": next(replies)})
    outcome = await run(node, rows_of({"text": LETTER}), tools)
    assert outcome.rows[0].values["text_extracted_findings"] == ["cleared"]


# -- patterns --------------------------------------------------------------------------------------------------------


def by_regex(**settings):
    return extract(extraction_method="regex", format_extraction=False, **settings)


async def matched(text, *patterns, document="d1"):
    tools = ScriptedTools(lambda _: {"patterns": list(patterns)})
    outcome = await run(by_regex(), rows_of({"text": text}, document=document), tools)
    return outcome, tools


@pytest.mark.parametrize(
    ("patterns", "texts"),
    [
        ([r"\d{4}-\d{2}-\d{2}"], ["2021-05-03", "2021-06-01"]),
        ([r"Case (\w+)"], ["A7"]),  # the group alone, as in DocETL's examples
        ([r"(\w+) met (\w+)"], ["Diaz", "Li"]),
        ([r"Case.*Li"], ["Case A7 of 2021-05-03\nDiaz met Li"]),  # a dot matches line ends
        ([r"Li", r"A7"], ["A7", "Li"]),  # in the order of the text
        ([r"x*", r"(x)?Diaz"], []),  # nothing but empty matches
        ([], []),
    ],
)
async def test_patterns_are_matched_by_code(patterns, texts):
    outcome, tools = await matched("Case A7 of 2021-05-03\nDiaz met Li on 2021-06-01.", *patterns)
    assert values_of(outcome)[0]["text_extracted_findings"] == texts
    assert len(tools.requests) == 1


async def test_matches_keep_their_lines():
    outcome, _ = await matched("ü Diaz\nfled 🙂\nDiaz\n", "Diaz", r"fled.*Diaz")
    assert outcome.rows[0].values["text_extracted_findings"] == ["Diaz", "fled 🙂\nDiaz"]
    assert outcome.rows[0].copied == {
        "text_extracted_findings[0]": (Span(1, 1), Span(3, 3)),
        "text_extracted_findings[1]": (Span(2, 3),),
    }


async def test_a_pattern_that_cannot_be_used_is_asked_for_again_with_the_reason():
    replies = iter([[r"(?<=on )\d+", "Diaz"], [r"on (\d+)"]])
    tools = ScriptedTools(lambda _: {"patterns": next(replies)})
    outcome = await run(by_regex(), rows_of({"text": "on 7"}), tools)
    assert values_of(outcome)[0]["text_extracted_findings"] == ["7"]
    again = prompt_of(tools.requests[1])
    assert r"- (?<=on )\d+: invalid perl operator" in again
    assert "- Diaz" not in again


async def test_patterns_that_stay_bad_fail_the_row_with_the_reply():
    outcome, tools = await matched("text", "(", r"\1")
    assert "the model wrote patterns that cannot be used: (: missing )" in outcome.failed[0].error
    assert json.loads(outcome.failed[0].raw_reply) == {"patterns": ["(", r"\1"]}
    assert len(tools.requests) == 2


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "(.*)*x", "((a{1,30}){1,30}){1,30}b"])
async def test_a_pattern_that_explodes_elsewhere_ends_at_once(pattern):
    outcome, _ = await matched("a" * 50_000, pattern)
    assert len(outcome.rows) + len(outcome.failed) == 1


async def test_too_many_matches_are_an_error():
    outcome, _ = await matched("ab" * 10_001, "a")
    assert "matches too often" in outcome.failed[0].error


async def test_a_text_that_is_no_unicode_fails_its_row():
    outcome, _ = await matched("a\ud800b", "b")
    assert "not valid Unicode at character 1" in outcome.failed[0].error


# -- the node --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("yaml", "message"),
    [
        ({"document_keys": ["text"]}, "the key 'prompt' is missing"),
        ({"prompt": "x"}, "the key 'document_keys' is missing"),
        ({"prompt": "x", "document_keys": []}, "document_keys names no field"),
        ({"prompt": "x", "document_keys": ["a", "a"]}, "names a field twice"),
        (
            {"prompt": "x", "document_keys": ["a"], "examples": [{"input": {"a": "b"}, "output": {"c": "d"}}]},
            "extract takes no examples",
        ),
        ({"prompt": " ", "document_keys": ["a"]}, "the prompt is empty"),
        ({"prompt": "x", "document_keys": ["a"], "extraction_key_suffix": ""}, "would overwrite the text"),
        ({"prompt": "x", "document_keys": ["a"], "extraction_method": "xpath"}, "not one of the choices"),
    ],
)
def test_what_cannot_work_is_an_error_when_the_pipeline_is_read(yaml, message):
    with pytest.raises(PipelineError, match=message):
        bind(Extract, {"name": "findings", **yaml}, Where())


def test_yaml_is_read_and_written_back():
    yaml = {
        "name": "findings",
        "prompt": "Find them.",
        "document_keys": ["text"],
        "extraction_method": "regex",
        "format_extraction": False,
        "extraction_key_suffix": "_x",
    }
    node = bind(Extract, yaml, Where())
    assert unbind(node) == yaml
    assert isinstance(hash(node), int)


def test_the_suffix_names_the_operator_unless_it_is_given():
    assert extract().traits().writes == {"text_extracted_findings"}
    assert extract(extraction_key_suffix="_x").traits().writes == {"text_x"}
