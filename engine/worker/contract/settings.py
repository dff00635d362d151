"""What this machine lets a person choose."""

from __future__ import annotations

from dataclasses import dataclass

from engine.worker.contract.query import Query


@dataclass(frozen=True, slots=True)
class Machine:
    """Cores, bytes of memory, the OCR models that are installed, and what the worker was told by its environment."""

    cores: int
    threads: int
    memory_bytes: int
    available_bytes: int
    readers: int
    ocr_models: tuple[str, ...]
    environment: dict[str, str]


MACHINE = Query[Machine]("settings.machine")
