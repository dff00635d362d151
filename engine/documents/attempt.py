"""Have a child that reads files ask for a socket, to see that it gets none."""

from __future__ import annotations

import json

from engine.documents.leftovers import scratch_folder
from engine.documents.options import ParseOptions
from engine.documents.render import ask_child, check_answer
from models.fence.attempt import Attempt


def try_from_child() -> Attempt:
    """Start a child, confined as for any file, and let it try. Raises DocumentError when it does not answer."""
    options = ParseOptions(threads=1)
    with scratch_folder() as scratch:
        out = scratch / "attempt.json"
        command: dict[str, object] = {"do": "attempt", "out": str(out), "options": options.to_json()}
        check_answer(ask_child(command, options, scratch, []))
        return Attempt(**json.loads(out.read_text(encoding="utf-8")))
