"""Write models/minilm.onnx: the computation of all-MiniLM-L6-v2, without its weights.

    pip install onnx && python packaging/minilm_graph.py FOLDER

FOLDER holds model.safetensors as `redwell models install` puts it. The graph says at which bytes of that file each
weight stands, so it belongs to that one file, whose SHA-256 the catalogue pins. Run again only for another file.
"""

from __future__ import annotations

import json
import struct
import sys
from pathlib import Path

import onnx
from onnx import TensorProto, helper

LAYERS, HEADS, HIDDEN, EPSILON = 6, 12, 384, 1e-12
OUT = Path(__file__).resolve().parents[1] / "models" / "minilm.onnx"
WEIGHTS = "model.safetensors"


class Graph:
    """Nodes and weights as they are added."""

    def __init__(self, weights: Path) -> None:
        with weights.open("rb") as file:
            length = struct.unpack("<Q", file.read(8))[0]
            self._header = json.loads(file.read(length))
        self._begin = 8 + length
        self.nodes: list[onnx.NodeProto] = []
        self.weights: dict[str, onnx.TensorProto] = {}

    def weight(self, name: str) -> str:
        """Name a weight of the file, by where its bytes are."""
        if name not in self.weights:
            entry = self._header[name]
            first, last = entry["data_offsets"]
            assert entry["dtype"] == "F32"
            tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=entry["shape"])
            tensor.data_location = TensorProto.EXTERNAL
            for key, value in (("location", WEIGHTS), ("offset", self._begin + first), ("length", last - first)):
                tensor.external_data.add(key=key, value=str(value))
            self.weights[name] = tensor
        return name

    def integers(self, name: str, values: list[int]) -> str:
        """Add a constant of whole numbers."""
        self.weights[name] = helper.make_tensor(name, TensorProto.INT64, [len(values)], values)
        return name

    def integer(self, name: str, value: int) -> str:
        """Add a whole number without dimensions."""
        self.weights[name] = helper.make_tensor(name, TensorProto.INT64, [], [value])
        return name

    def add(self, op: str, *inputs: str, out: str = "", domain: str = "", **attributes: object) -> str:
        """Add a node; return its output."""
        result = out or f"{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [result], domain=domain, **attributes))
        return result

    def linear(self, value: str, name: str) -> str:
        """Multiply by a weight (rows are outputs) and add its bias."""
        turned = self.add("Transpose", self.weight(f"{name}.weight"), perm=[1, 0])
        return self.add("Add", self.add("MatMul", value, turned), self.weight(f"{name}.bias"))

    def norm(self, value: str, name: str) -> str:
        """Layer normalisation."""
        parts = (self.weight(f"{name}.weight"), self.weight(f"{name}.bias"))
        return self.add("LayerNormalization", value, *parts, axis=-1, epsilon=EPSILON)


def build(weights: Path) -> onnx.ModelProto:
    """BERT (Devlin et al. 2019), then the mean over the tokens, then length 1."""
    graph = Graph(weights)
    add, one = graph.add, graph.integers("one", [1])
    length = add("Slice", add("Shape", "input_ids"), one, graph.integers("two", [2]))
    scalar = add("Squeeze", length)
    places = add("Range", graph.integer("zero", 0), scalar, graph.integer("step", 1))
    words = add("Gather", graph.weight("embeddings.word_embeddings.weight"), "input_ids")
    places = add("Gather", graph.weight("embeddings.position_embeddings.weight"), places)
    kinds = add("Gather", graph.weight("embeddings.token_type_embeddings.weight"), graph.integer("first", 0))
    state = graph.norm(add("Add", add("Add", words, kinds), places), "embeddings.LayerNorm")
    mask = add("Cast", "attention_mask", to=TensorProto.INT32)
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}"
        query, key, value = (graph.linear(state, f"{at}.attention.self.{part}") for part in ("query", "key", "value"))
        seen = add("MultiHeadAttention", query, key, value, "", mask, domain="com.microsoft", num_heads=HEADS)
        seen = graph.linear(seen, f"{at}.attention.output.dense")
        state = graph.norm(add("Add", seen, state), f"{at}.attention.output.LayerNorm")
        wide = add("Gelu", graph.linear(state, f"{at}.intermediate.dense"), domain="com.microsoft")
        state = graph.norm(add("Add", graph.linear(wide, f"{at}.output.dense"), state), f"{at}.output.LayerNorm")
    weights_of_tokens = add(
        "Unsqueeze", add("Cast", "attention_mask", to=TensorProto.FLOAT), graph.integers("last", [2])
    )
    total = add("ReduceSum", add("Mul", state, weights_of_tokens), one, keepdims=0)
    mean = add("Div", total, add("ReduceSum", weights_of_tokens, one, keepdims=0))
    add("LpNormalization", mean, out="vectors", axis=-1, p=2)
    batch = ["texts", "tokens"]
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "all-MiniLM-L6-v2",
            [helper.make_tensor_value_info(name, TensorProto.INT64, batch) for name in ("input_ids", "attention_mask")],
            [helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["texts", HIDDEN])],
            initializer=list(graph.weights.values()),
        ),
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)],
        producer_name="redwell",
    )
    model.ir_version = 9
    return model


if __name__ == "__main__":
    OUT.write_bytes(build(Path(sys.argv[1]) / WEIGHTS).SerializeToString(deterministic=True))
    print(f"{OUT}: {OUT.stat().st_size:,} bytes")
