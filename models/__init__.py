"""On-device models: backends, token masks, embeddings, catalogue. Knows no pipeline."""

import os

# onnxruntime reports to its maker by default, from native code: it must be told before its library is loaded.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
