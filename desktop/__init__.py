"""Qt windows. They know the engine only through the worker process and its events."""

import os

# onnxruntime reports to its maker by default, from native code: it must be told before its library is loaded.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
