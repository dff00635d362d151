"""The cage of a process that loads weights, and the variables that it gets."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import NoReturn

from models.cache_place import make_private_folder
from models.errors import ModelError
from models.fence.process import cage, fence_network, harden, has_graphics_card
from models.paths import expanded
from models.protocol import RuntimeName

_KEPT = frozenset(
    {
        "PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TEMP", "TMP",
        "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "USERPROFILE",
        "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "NUMBER_OF_PROCESSORS", "ORT_DISABLE_TELEMETRY", "CPATH",
        "CC", "CXX",
    }
)  # fmt: skip
_KEPT_BEGINNINGS = (
    "LC_", "XDG_", "REDWELL_", "GGML_", "LLAMA_", "CUDA", "NVIDIA_", "NCCL_", "HIP_", "ROCR_", "HSA_", "VK_", "AMD_",
    "OMP_", "KMP_", "GOMP_", "OPENBLAS_", "MKL_", "VLLM_", "TORCH", "PYTORCH_", "TRITON_", "FLASHINFER_",
    "HF_HUB_", "HF_HOME", "TRANSFORMERS_", "PROCESSOR_",
)  # fmt: skip
"""What runtimes, compilers and drivers of graphics cards are told by variables."""

_SECRET = ("PASSPHRASE", "PASSWORD", "SECRET", "TOKEN", "_KEY", "CREDENTIAL")
"""Parts of the names of variables that no process with a model gets; `REDWELL_CONTEXT_TOKENS` is none of them."""

_NOT_SECRET = frozenset({"REDWELL_CONTEXT_TOKENS"})


def model_environment() -> dict[str, str]:
    """Return what a process with a model gets of our variables: what a runtime reads, no key and no passphrase."""
    kept = {name: value for name, value in os.environ.items() if _is_kept(name.upper())}
    return {**kept, "OPENBLAS_NUM_THREADS": "1"}  # numpy's own threads would be there before the cage


def enter_model_cage(runtime: RuntimeName, location: str) -> None:
    """Leave this process its weights to read and, where one is set, the folder of prefixes to write.

    What a graphics card's driver needs differs from card to card, so there only the network is refused. vLLM speaks to
    its own parts by sockets, and a server is reached by one: for these nothing is refused. Call it before a second
    thread is made. Raises OSError, and ImportError where there is no runtime.
    """
    harden()
    if runtime != "llama":
        return
    if has_graphics_card():
        fence_network()
        return
    from models.llama_runtime import load_libraries  # noqa: PLC0415 - the runtime, which some installations lack

    load_libraries()
    prefixes = os.environ.get("REDWELL_PREFIX_FOLDER", "")
    if prefixes:
        make_private_folder(expanded(prefixes))
    cage([location], [str(expanded(prefixes))] if prefixes else [])


def report(work: Callable[[], object]) -> int:
    """Print the result of a child's work as one line of JSON and return 0; on failure print the reason and return 1."""
    try:
        body = work()
    except (ModelError, ImportError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(json.dumps(body) + "\n")
    return 0


def end(code: int) -> NoReturn:
    """End a process that was in the cage, without the last words of libraries: OpenMP would look for its file."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _is_kept(name: str) -> bool:
    if any(part in name for part in _SECRET) and name not in _NOT_SECRET:
        return False
    return name in _KEPT or name.startswith(_KEPT_BEGINNINGS)
