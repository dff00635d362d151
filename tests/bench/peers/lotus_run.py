"""Run job C with LOTUS 1.2.4 against a server on this machine, and write what it cost as JSON.

usage: PYTHON lotus_run.py PIPELINE ROWS BASE_URL THREADS FOLDER
PYTHON is that of an environment which has LOTUS (peers/README.md). `sem_filter` gets the prompt of our filter, which
LOTUS puts into words of its own and answers with True or False.
"""

import json
import os
import re
import sys
import time
from pathlib import Path


def main(arguments):
    pipeline, rows, base_url, threads, folder = arguments
    into = Path(folder).resolve()
    into.mkdir(parents=True, exist_ok=True)
    settle_environment()
    import lotus
    import pandas as pd
    import yaml
    from lotus.models import LM

    body = yaml.safe_load(Path(pipeline).read_text(encoding="utf-8"))
    [operation] = body["operations"]
    question = re.sub(r"\{\{\s*input\.(\w+)\s*\}\}", r"{\1}", operation["prompt"])
    frame = pd.DataFrame([json.loads(line) for line in Path(rows).read_text(encoding="utf-8").splitlines()])
    model = LM(
        model="openai/local",
        api_base=base_url,
        api_key="none",
        max_batch_size=int(threads),
        temperature=0.0,
        max_tokens=operation["max_tokens"],
    )
    lotus.settings.configure(lm=model, enable_cache=False)
    warm_up(base_url)
    began = time.perf_counter()
    kept = frame.sem_filter(question)
    seconds = time.perf_counter() - began
    told = {
        "seconds": seconds,
        "calls": len(frame),
        "prompt_tokens": model.stats.physical_usage.prompt_tokens,
        "rows": kept.to_dict(orient="records"),
    }
    (into / "peer.json").write_text(json.dumps(told, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


def warm_up(base_url):
    """Ask for one token before the clock starts: the first call of litellm loads tokenizers and clients."""
    from litellm import completion

    hello = [{"role": "user", "content": "Hello"}]
    completion(model="openai/local", messages=hello, max_tokens=1, api_base=base_url)


def settle_environment():
    """Start offline: litellm's own price list and tokenizer files."""
    import importlib.util

    os.environ.update(LITELLM_LOCAL_MODEL_COST_MAP="True", OPENAI_API_KEY="none", HF_HUB_OFFLINE="1")
    spec = importlib.util.find_spec("litellm")
    cached = Path(spec.origin).parent / "litellm_core_utils" / "tokenizers"
    os.environ["TIKTOKEN_CACHE_DIR"] = str(cached)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
