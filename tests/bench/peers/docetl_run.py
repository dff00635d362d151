"""Run one job with DocETL 0.3.0 against a server on this machine, and write what it cost as JSON.

usage: PYTHON docetl_run.py PIPELINE ROWS BASE_URL THREADS FOLDER
PYTHON is that of an environment which has DocETL (peers/README.md). The pipeline is the one that Redwell runs: the
same prompts, schemas and blocking rules. What is added is what suits this peer: structured output in place of tool
calls, which fail on small models; a forced schema where DocETL 0.3.0 reads tool calls only (resolve).
"""

import json
import re
import sys
import time
from pathlib import Path

from litellm_offline import settle_environment, warm_up

LONG_SECONDS = 3000
"""A reply may wait behind others for minutes: the default of 120 s would ask again."""

COMPARED_AT_ONCE = 64
"""Pairs of `resolve` that are asked before matches spare further ones: the default asks 500."""

SEND_OUTPUT = "send_output"


def main(arguments):
    pipeline, rows, base_url, threads, folder = arguments
    into = Path(folder).resolve()
    into.mkdir(parents=True, exist_ok=True)
    settle_environment(DOCETL_HOME_DIR=str(into))  # a fresh cache of replies for every run
    body = translate(read_yaml(pipeline), Path(rows), base_url, into)
    costs = {"calls": 0, "prompt_tokens": 0, "completion_tokens": 0}
    from docetl.runner import DSLRunner
    from docetl.utils import count_tokens

    count_tokens("Hello", "openai/local")
    warm_up(base_url)
    watch_calls(costs)
    runner = DSLRunner(body, max_threads=int(threads))
    began = time.perf_counter()
    result, _ = runner.run()
    told = {"seconds": time.perf_counter() - began, **costs, "rows": result}
    (into / "peer.json").write_text(json.dumps(told, ensure_ascii=False, default=str) + "\n", encoding="utf-8")
    return 0


def read_yaml(path):
    import yaml

    return yaml.safe_load(Path(path).read_text(encoding="utf-8"))


def translate(body, rows, base_url, folder):
    """Make DocETL's configuration of our pipeline."""
    data = folder / "rows.json"
    lines = rows.read_text(encoding="utf-8").splitlines()
    data.write_text(json.dumps([json.loads(line) for line in lines]), encoding="utf-8")
    return {
        "datasets": {"rows": {"type": "file", "path": str(data)}},
        "default_model": "openai/local",
        "default_lm_api_base": base_url,
        "operations": [operation(o) for o in body["operations"]],
        "pipeline": {**body["pipeline"], "output": {"type": "file", "path": str(folder / "out.json")}},
    }


def unbounded(kind):
    """Write a type without the most items of a list, which DocETL has no word for."""
    return re.sub(r"(list\[\w+), \d+\]", r"\1]", kind)


def operation(ours):
    """Add what DocETL needs to one operator that asks a model."""
    theirs = dict(ours)
    if "schema" in ours.get("output", {}):
        theirs["output"] = {**ours["output"], "schema": {k: unbounded(v) for k, v in ours["output"]["schema"].items()}}
    most = theirs.pop("max_tokens", None)
    if most is None:
        return theirs
    theirs["litellm_completion_kwargs"] = {"temperature": 0, "max_tokens": most}
    theirs["timeout"] = LONG_SECONDS
    theirs["max_retries_per_timeout"] = 0
    # A reply that is cut off is a row without an answer, as ours is; else it ends the whole run.
    theirs["skip_on_error"] = True
    if theirs["type"] == "resolve":
        theirs["compare_batch_size"] = COMPARED_AT_ONCE
    else:
        theirs["output"] = {**theirs["output"], "mode": "structured_output"}
    if theirs["type"] == "parallel_map":
        theirs["prompts"] = [{"model": "openai/local", **prompt} for prompt in theirs["prompts"]]
    return theirs


def watch_calls(costs):
    """Count calls, and turn a forced tool call into a forced schema, which a small model can follow."""
    from docetl.operations.utils import api
    from litellm.types.utils import ChatCompletionMessageToolCall, Function

    ask = api.completion

    def completion(**given):
        tools = given.pop("tools", None)
        given.pop("tool_choice", None)
        if tools:
            schema = tools[0]["function"]["parameters"]
            given["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": SEND_OUTPUT, "schema": schema, "strict": True},
            }
        reply = ask(**given)
        costs["calls"] += 1
        costs["prompt_tokens"] += reply.usage.prompt_tokens
        costs["completion_tokens"] += reply.usage.completion_tokens
        if tools:
            message = reply.choices[0].message
            function = Function(name=SEND_OUTPUT, arguments=message.content)
            message.tool_calls = [ChatCompletionMessageToolCall(function=function)]
        return reply

    api.completion = completion


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
