"""validate: what fails is told to the model, and a row is never half right (paper section 2.1)."""

from __future__ import annotations

import pytest
from scripted_tools import ScriptedTools, prompt_of, rows_of, run, schema, template, values_of

from engine.errors import PipelineError
from engine.language.expressions import Expression
from engine.operators.filter import Filter
from engine.operators.map import Map
from engine.operators.reduce import Reduce
from models.errors import ModelCrashed, OutOfTokens


def asking(*expressions, **more):
    more = {"schema": schema(names="list[string]"), "prompt": template("{{ input.text }}"), **more}
    return Map(name="ask", validate=tuple(map(Expression.parse, expressions)), **more)


def in_turn(*replies):
    """Give replies one after another; a reply that is an error is raised."""
    left = list(replies)

    def reply(_request):
        value = left.pop(0)
        if isinstance(value, Exception):
            raise value
        return value

    return reply


AT_LEAST_TWO = 'len(output["names"]) >= 2'


async def test_a_failed_answer_is_asked_for_again_with_the_chat_and_what_was_seen():
    tools = ScriptedTools(in_turn({"names": ["Diaz"]}, {"names": ["Diaz", "Roy"]}))
    outcome = await run(asking(AT_LEAST_TWO), rows_of({"text": "Diaz and Roy."}), tools)
    assert values_of(outcome) == [{"text": "Diaz and Roy.", "names": ["Diaz", "Roy"]}]
    first, second = tools.requests
    # The retry begins as the first request did, so that its beginning is read only once.
    assert second.segments[: len(first.segments)] == first.segments
    reply, told = second.segments[len(first.segments) :]
    assert (reply.role, reply.text) == ("assistant", '{"names": ["Diaz"]}')
    assert told.role == "user"
    assert f"- {AT_LEAST_TWO} (in your answer output['names'] is [\"Diaz\"])\n" in told.text
    assert first.digest != second.digest


async def test_exhausted_retries_fail_the_row_with_the_last_reply():
    tools = ScriptedTools(lambda request: {"names": [str(len(request.segments))]})
    outcome = await run(asking(AT_LEAST_TWO, num_retries_on_validate_failure=3), rows_of({"text": "x"}), tools)
    [failed] = outcome.failed
    assert (
        "the answer fails validation after 3 retries: len(output[\"names\"]) >= 2 (output['names'] is" in failed.error
    )
    assert failed.raw_reply == '{"names": ["9"]}'  # 3 segments at first, 2 more each time
    assert len(tools.requests) == len({request.digest for request in tools.requests}) == 4
    assert not outcome.rows


@pytest.mark.parametrize(("retries", "calls"), [(None, 3), (0, 1)])  # DocETL's code retries twice
async def test_how_often_it_is_tried(retries, calls):
    more = {} if retries is None else {"num_retries_on_validate_failure": retries}
    tools = ScriptedTools(lambda _request: {"names": []})
    await run(asking(AT_LEAST_TWO, **more), rows_of({"text": "x"}), tools)
    assert len(tools.requests) == calls


async def test_expressions_see_the_rows_other_fields():
    node = asking('len(output["names"]) == output["wanted"] == input["wanted"]', num_retries_on_validate_failure=0)
    tools = ScriptedTools(lambda _request: {"names": ["a"]})
    outcome = await run(node, rows_of({"text": "x", "wanted": 1}, {"text": "y", "wanted": 2}), tools)
    assert [row.values["wanted"] for row in outcome.rows] == [1]
    assert [failed.row.values["wanted"] for failed in outcome.failed] == [2]


async def test_a_missing_field_fails_at_once_for_no_reply_can_mend_it():
    tools = ScriptedTools(lambda _request: {"names": []})
    outcome = await run(asking('output["nmaes"]'), rows_of({"text": "x"}), tools)
    assert "output has no field 'nmaes'; the fields there are: text, names" in outcome.failed[0].error
    assert len(tools.requests) == 1


@pytest.mark.parametrize("error", [OutOfTokens("100 tokens", partial='{"na'), ModelCrashed("stopped")])
async def test_a_retry_that_fails_fails_the_row(error):
    tools = ScriptedTools(in_turn({"names": []}, error))
    outcome = await run(asking(AT_LEAST_TWO), rows_of({"text": "x"}), tools)
    assert str(error) in outcome.failed[0].error
    assert outcome.failed[0].raw_reply == getattr(error, "partial", None)


async def test_a_retry_without_room_says_so():
    tools = ScriptedTools(lambda _request: {"names": []}, context_tokens=1000, max_tokens=500)
    outcome = await run(asking(AT_LEAST_TWO), rows_of({"text": "word " * 400}), tools)
    assert "the prompt leaves no room for a retry" in outcome.failed[0].error
    assert outcome.failed[0].raw_reply == '{"names": []}'


async def test_a_filter_is_validated_too():
    node = Filter(
        name="keep",
        prompt=template("{{ input.text }}"),
        schema=schema(reason="string", keep="boolean"),
        validate=(Expression.parse('isinstance(output["keep"], bool) and output["reason"] != ""'),),
    )
    tools = ScriptedTools(in_turn({"reason": "", "keep": True}, {"reason": "so", "keep": False}))
    outcome = await run(node, rows_of({"text": "x"}), tools)
    assert [rejected.reason for rejected in outcome.rejected] == ["filter keep: keep is false: so"]


async def test_a_fold_is_validated_by_its_output_not_by_its_notes():
    node = Reduce(
        name="sum",
        reduce_key=("_all",),
        prompt=template("{% for i in inputs %}{{ i.n }}{% endfor %}", "inputs", "reduce_key"),
        schema=schema(total="integer"),
        fold_batch_size=1,
        validate=(Expression.parse('output["total"] > 0'),),
    )
    replies = [{"scratchpad": "", "output": {"total": n}} for n in (1, 0, 3)]
    tools = ScriptedTools(in_turn(*replies))
    outcome = await run(node, rows_of({"n": 1}, {"n": 2}), tools)
    assert [row["total"] for row in values_of(outcome)] == [3]


async def test_no_row_disturbs_another():
    def reply(request):
        good = len(request.segments) > 3 or prompt_of(request).startswith("good")
        return {"names": ["a", "b"] if good and not prompt_of(request).startswith("never") else []}

    rows = rows_of({"text": "good"}, {"text": "late"}, {"text": "never"})
    outcome = await run(asking(AT_LEAST_TWO), rows, ScriptedTools(reply))
    assert [row.values["text"] for row in outcome.rows] == ["good", "late"]
    assert [failed.row.values["text"] for failed in outcome.failed] == ["never"]


@pytest.mark.parametrize("value", [-1])
def test_a_negative_number_of_retries_is_refused(value):
    with pytest.raises(PipelineError, match="num_retries_on_validate_failure must be at least 0"):
        asking(AT_LEAST_TWO, num_retries_on_validate_failure=value)
