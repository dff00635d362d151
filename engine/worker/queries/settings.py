"""What this machine lets a person choose: cores, memory, and what OCR can read."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

from engine.documents.options import USUAL_WORKERS
from engine.worker.contract import settings as contract
from engine.worker.contract.settings import Machine
from engine.worker.queries.desk import Desk
from engine.worker.queries.registry import query
from models.hardware import inspect_hardware

CHOSEN_BY_ENVIRONMENT = ("REDWELL_THREADS", "REDWELL_CONTEXT_TOKENS", "REDWELL_SEQUENCES", "REDWELL_GPU_LAYERS")


@query(contract.MACHINE, lane="slow")
def machine(desk: Desk) -> Machine:
    """Look at this machine."""
    hardware = inspect_hardware()
    return Machine(
        cores=hardware.cores,
        threads=hardware.threads,
        memory_bytes=hardware.memory_bytes,
        available_bytes=hardware.available_bytes,
        readers=USUAL_WORKERS,
        ocr_models=ocr_models(),
        environment={name: os.environ[name] for name in CHOSEN_BY_ENVIRONMENT if os.environ.get(name)},
    )


def ocr_models() -> tuple[str, ...]:
    """Name the recognition models that came with the OCR library, without loading it."""
    spec = importlib.util.find_spec("rapidocr")
    places = spec.submodule_search_locations if spec else None
    return tuple(sorted(file.stem for place in places or () for file in Path(place, "models").glob("*_rec_*.onnx")))
