"""Run one job with LOTUS 1.2.4 against a server on this machine, and write what it cost as JSON.

usage: PYTHON lotus_run.py PIPELINE ROWS BASE_URL THREADS FOLDER
PYTHON is that of an environment which has LOTUS (peers/README.md). The pipeline is the one that Redwell runs; each
operator is done as somebody who knows LOTUS would do it, with pandas for what needs no model:

    map, parallel_map   sem_map, one for each prompt, with a JSON schema
    filter              sem_filter
    resolve             pandas makes the pairs of distinct values within a block, sem_filter judges them, connected
                        values are one, sem_agg by group writes its name
    reduce              sem_agg, by group
"""

import json
import re
import sys
import time
from itertools import combinations
from pathlib import Path

SLOT_TOKENS = 4096
"""Context of one slot of the server (processes.server_command): sem_agg fills its prompts up to it."""


def main(arguments):
    pipeline, rows, base_url, threads, folder = arguments
    into = Path(folder).resolve()
    into.mkdir(parents=True, exist_ok=True)
    from litellm_offline import settle_environment, warm_up

    settle_environment()
    import lotus
    import pandas as pd
    import yaml

    body = yaml.safe_load(Path(pipeline).read_text(encoding="utf-8"))
    frame = pd.DataFrame([json.loads(line) for line in Path(rows).read_text(encoding="utf-8").splitlines()])
    costs = {"calls": 0, "prompt_tokens": 0, "completion_tokens": 0}
    warm_up(base_url)
    began = time.perf_counter()
    for operation in body["operations"]:
        model = model_for(operation, base_url, int(threads), costs)
        lotus.settings.configure(lm=model, enable_cache=False, parallel_groupby_max_threads=int(threads))
        frame = OPERATORS[operation["type"]](frame, operation)
        used = model.stats.physical_usage
        costs["prompt_tokens"] += used.prompt_tokens
        costs["completion_tokens"] += used.completion_tokens
    told = {"seconds": time.perf_counter() - began, **costs, "rows": frame.to_dict(orient="records")}
    (into / "peer.json").write_text(json.dumps(told, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


def model_for(operation, base_url, threads, costs):
    """The model with the longest reply that the operator allows; its calls are counted."""
    from lotus.models import LM

    class Counting(LM):
        def __call__(self, messages, *given, **named):
            costs["calls"] += len(messages)
            return super().__call__(messages, *given, **named)

    return Counting(
        model="openai/local",
        api_base=base_url,
        api_key="none",
        max_batch_size=threads,
        temperature=0.0,
        max_ctx_len=SLOT_TOKENS,
        max_tokens=operation.get("max_tokens", 1),
    )


# -- operators -----------------------------------------------------------------------------------------------------


def filter_rows(frame, operation):
    return frame.sem_filter(instruction(operation["prompt"]))


def map_rows(frame, operation):
    return with_columns(frame, operation["prompt"], operation["output"]["schema"])


def map_prompts(frame, operation):
    for prompt in operation["prompts"]:
        schema = {key: operation["output"]["schema"][key] for key in prompt["output_keys"]}
        frame = with_columns(frame, prompt["prompt"], schema)
    return frame


def unnest(frame, operation):
    """One row for each item; an item's fields become columns."""
    key = operation["unnest_key"]
    frame = frame.explode(key, ignore_index=True)
    frame = frame[frame[key].map(lambda item: isinstance(item, dict))].reset_index(drop=True)
    for name in operation["expand_fields"]:
        frame[name] = frame[key].map(lambda item, name=name: item.get(name))
    return frame


def resolve(frame, operation):
    import pandas as pd

    [key] = operation["output"]["schema"]
    rule = " and ".join(f"({one})" for one in operation.get("blocking_conditions", ["True"]))
    distinct = frame.drop_duplicates(key).to_dict(orient="records")
    pairs = [
        {f"{key}1": one[key], f"{key}2": other[key]}
        for one, other in combinations(distinct, 2)
        if eval(rule, {"input1": one, "input2": other})
    ]
    groups = {one[key]: {one[key]} for one in distinct}
    if pairs:
        question = re.sub(r"\{\{\s*input([12])\.(\w+)\s*\}\}", r"{\2\1}", operation["comparison_prompt"])
        kept = pd.DataFrame(pairs).sem_filter(question)
        for row in kept.to_dict(orient="records"):
            joined = groups[row[f"{key}1"]] | groups[row[f"{key}2"]]
            groups.update(dict.fromkeys(joined, joined))
    several = [
        {"group": number, key: value}
        for number, group in enumerate({frozenset(g) for g in groups.values() if len(g) > 1})
        for value in sorted(group)
    ]
    if several:
        asked = looped(operation["resolution_prompt"])
        schema = operation["output"]["schema"]
        named = pd.DataFrame(several).sem_agg(asked, group_by=["group"], response_format=response_format(schema))
        names = {first(row["group"]): row.get(key) for row in named.to_dict(orient="records")}
        canonical = {one[key]: names.get(one["group"]) or one[key] for one in several}
        frame = frame.assign(**{key: frame[key].map(lambda value: canonical.get(value, value))})
    return frame


def reduce_rows(frame, operation):
    output, key = operation["output"], operation["reduce_key"]
    by = None if key == "_all" else [key]
    asked, wanted = looped(operation["prompt"]), response_format(output["schema"])
    result = frame.sem_agg(asked, group_by=by, response_format=wanted)
    if by is None:
        return result
    result[key] = result[key].map(first)
    lineage = frame.groupby(key)[output["lineage"]].apply(lambda rows: rows.to_dict(orient="records"))
    result[f"{operation['name']}_lineage"] = result[key].map(lineage)
    return result


OPERATORS = {
    "filter": filter_rows,
    "map": map_rows,
    "parallel_map": map_prompts,
    "unnest": unnest,
    "resolve": resolve,
    "reduce": reduce_rows,
}


# -- words and schemas ---------------------------------------------------------------------------------------------


def with_columns(frame, prompt, schema):
    """Ask a prompt of every row; a reply that is no JSON gives a row without values, as ours and DocETL's do."""
    replies = frame.sem_map(instruction(prompt), suffix="_reply", response_format=response_format(schema))
    read = replies.pop("_reply").map(read_json)
    for key in schema:
        replies[key] = read.map(lambda reply, key=key: reply.get(key))
    return replies


def read_json(reply):
    try:
        value = json.loads(reply)
    except (TypeError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def first(value):
    """A group's name; pandas gives that of one column as a tuple."""
    return value[0] if isinstance(value, tuple) else value


def instruction(prompt):
    return re.sub(r"\{\{\s*input\.(\w+)\s*\}\}", r"{\1}", prompt)


def looped(prompt):
    """Name each column once where our prompt goes through the rows: sem_agg lists the rows by itself."""
    loop = r"\{%\s*for \w+ in inputs\s*%\}.*?\{\{\s*\w+\.(\w+)\s*\}\}\s*\{%\s*endfor\s*%\}"
    prompt = re.sub(loop, r"{\1}", prompt, flags=re.DOTALL)
    return re.sub(r"\{\{\s*reduce_key\.(\w+)\s*\}\}", r"{\1}", prompt)


def response_format(schema):
    body = {"type": "object", "properties": {}, "required": list(schema), "additionalProperties": False}
    body["properties"] = {key: json_schema(kind) for key, kind in schema.items()}
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": body, "strict": True}}


def json_schema(kind):
    """Read `string`, `list[KIND]`, `list[KIND, MOST]` and `{name: KIND, ...}`."""
    kind = kind.strip()
    if listed := re.fullmatch(r"list\[(.+?)(?:,\s*(\d+))?\]", kind):
        most = {"maxItems": int(listed[2])} if listed[2] else {}
        return {"type": "array", "items": json_schema(listed[1]), **most}
    if kind.startswith("{"):
        parts = dict(part.split(":") for part in kind.strip("{} ").split(","))
        fields = {name.strip(): json_schema(inner) for name, inner in parts.items()}
        return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    return {"type": kind}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
