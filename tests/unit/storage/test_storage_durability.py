"""What is promised as kept is flushed to the disk when its call returns: counted where the kernel can be watched."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import hashlib, os, sys
from pathlib import Path
from storage.case import Case
from storage.documents import LineRecord
from storage.ledger import FateRecord
from storage.reviews import ReviewEdit
from storage.reviews import RowIdentity
from storage.rows import RowRecord
case = Case(Path(sys.argv[1]))
run = case.runs.start(pipeline_yaml="", pipeline_digest="", model_name="")
steps = {
    "reply": lambda: case.replies.save(hashlib.sha256(b"1").hexdigest(), {"text": "x"}, "map", run),
    "fates": lambda: case.ledger.save_fates(run, "map", [FateRecord("r1", "output")], rows_in=1),
    "rows": lambda: case.rows.save(run, "map", [RowRecord("r1", {"a": 1})]),
    "results": lambda: case.runs.save_results(run, ["a"], ["r1"]),
    "review": lambda: case.reviews.save(run, [ReviewEdit(RowIdentity("r1", b"d"), "a", "accept", 1)], who="ann"),
    "undo": lambda: case.reviews.undo(),
    "status": lambda: case.runs.finish(run, "finished"),
    "document": lambda: case.documents.save("a" * 64, filename="f", kind="t", size_bytes=1, page_count=1, body={},
                                           lines=[LineRecord(1, 1, "text")]),
    "cached": lambda: case.cache.save("kind", "key", 1),
}
for name, step in steps.items():
    os.write(2, f"MARK {name}\\n".encode())
    step()
os.write(2, b"MARK end\\n")
"""


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace to see what is flushed to the disk")
def test_what_is_kept_is_flushed_and_what_can_be_made_again_is_not(tmp_path: Path) -> None:
    log = tmp_path / "calls"
    watch = ["strace", "-f", "-o", log, "-e", "trace=fsync,fdatasync,write"]
    made = subprocess.run(
        [*watch, sys.executable, "-c", SCRIPT, tmp_path / "c.redwell"], capture_output=True, text=True, check=False
    )
    if "MARK end" not in made.stderr:
        if "ptrace" in made.stderr or "Operation not permitted" in made.stderr:
            pytest.skip("this machine does not let strace watch a process")
        pytest.fail(made.stderr)
    flushed: dict[str, int] = {}
    name = ""
    for line in log.read_text(errors="replace").splitlines():
        if mark := re.search(r'write\(2, "MARK (\w+)', line):
            name = mark[1]
        elif name and re.search(r"\b(fsync|fdatasync)\(", line):
            flushed[name] = flushed.get(name, 0) + 1
    flushed.pop("end", None)
    # The first frames of a -wal file may be flushed on their own; what counts is that none goes without.
    assert set(flushed) == {"reply", "fates", "rows", "results", "review", "undo", "status"}
