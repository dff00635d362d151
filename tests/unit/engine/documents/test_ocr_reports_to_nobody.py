"""The OCR runtime has telemetry of its own, on by default: it leaves a device's id in the cache and sends it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

READ = """
import sys
sys.path.insert(0, sys.argv[1])
import cv2, numpy as np
from engine.documents.ocr import Ocr
page = np.full((200, 800, 3), 255, np.uint8)
cv2.putText(page, "Officer Diaz fell", (20, 120), 0, 2, (0, 0, 0), 3)
print(" ".join(fragment.text for fragment in Ocr(1).read(page, 0.24).fragments))
"""


def test_reading_a_picture_leaves_nothing_in_the_home_folder(tmp_path: Path) -> None:
    """Seen with onnxruntime 1.31: .cache/Microsoft/DeveloperTools/.onnxruntime/deviceid, and events to be sent."""
    root = Path(__file__).resolve().parents[4]
    kept = {
        name: value for name, value in os.environ.items() if name not in ("ORT_DISABLE_TELEMETRY", "XDG_CACHE_HOME")
    }
    done = subprocess.run(
        [sys.executable, "-c", READ, str(root)],
        env={**kept, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert "Diaz" in done.stdout
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
