"""The targets there are, by name."""

from __future__ import annotations

from collections.abc import Mapping

from fuzz.case_files import CaseTarget
from fuzz.documents import docx_target, mail_target, pdf_target, xlsx_target, zip_target
from fuzz.inputs import NewTarget
from fuzz.model_files import ModelFileTarget
from fuzz.worker_lines import WorkerTarget

TARGETS: Mapping[str, NewTarget] = {
    "pdf": pdf_target,
    "eml": mail_target,
    "docx": docx_target,
    "xlsx": xlsx_target,
    "zip": zip_target,
    "gguf": ModelFileTarget,
    "case": CaseTarget,
    "worker": WorkerTarget,
}
