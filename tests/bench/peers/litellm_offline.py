"""What both peers need of litellm, through which they ask the server: in their environments, not in Redwell's."""

import importlib.util
import os
from pathlib import Path


def settle_environment(**more):
    """Start offline: litellm's own price list and tokenizer files."""
    os.environ.update(LITELLM_LOCAL_MODEL_COST_MAP="True", OPENAI_API_KEY="none", HF_HUB_OFFLINE="1", **more)
    spec = importlib.util.find_spec("litellm")
    cached = Path(spec.origin).parent / "litellm_core_utils" / "tokenizers"
    os.environ["TIKTOKEN_CACHE_DIR"] = str(cached)


def warm_up(base_url):
    """Ask for one token before the clock starts: the first call of litellm loads tokenizers and clients."""
    from litellm import completion

    hello = [{"role": "user", "content": "Hello"}]
    completion(model="openai/local", messages=hello, max_tokens=1, api_base=base_url)
