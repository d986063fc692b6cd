"""The graph of a BERT encoder that runs fastest in ONNX Runtime on a processor, in int8 or, to compare with, fp32.

Both models that embed without a service are such encoders: a vector is the mean of the last hidden states. One text
a call at its exact length: there is no attention mask, so attention takes its flash path. Every choice below was
measured; the comments name the alternative that lost.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from onnx import ModelProto, NodeProto, StringStringEntryProto, TensorProto, helper, numpy_helper

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Weights = Mapping[str, Floats]

EPSILON = 1e-12
MICROSOFT = "com.microsoft"

# Where a file can be mapped into memory on every system.
BLOCK = 65536
# Smaller constants stay in the graph: each one outside is a call to the system.
SMALLEST_OUTSIDE = 16384

WORDS = "embeddings.word_embeddings.weight"

# A token whose largest value is smaller than this is not scaled up: all of it may be zero or negative.
SMALLEST_TOKEN_SCALE = 0.05


class Shape(NamedTuple):
    """The differences between encoders, beside their weights.

    GELU leaves a few tokens with values a hundred times those of the others; with one scale for all tokens the others
    lose their digits. In the layers `scaled_by_token` each token has a scale of its own, for 2 to 3 % of the time.
    """

    name: str
    n_layers: int
    n_heads: int
    scaled_by_token: range

    @property
    def smoothed_tensors(self) -> tuple[str, ...]:
        """Name the tensors of which the channels that are large are divided."""
        return tuple(name(layer) for layer in range(self.n_layers) for name in (attention_input, feed_forward_input))


class FourBitTable(NamedTuple):
    """The vectors of words as blocks of 32 numbers of four bits, each with a scale: (number - 8) * scale.

    `numbers` is uint8 of shape (words, blocks, 16): byte i holds number i in its low half and number 16 + i in its high
    one. `scales` is float16 of shape (words, blocks, 1).
    """

    numbers: NDArray[np.uint8]
    scales: NDArray[np.float16]

    def floats(self) -> Floats:
        """Return the vectors in float32, of shape (words, width)."""
        both = np.concatenate([self.numbers & 15, self.numbers >> 4], axis=2).astype(np.float32)
        vectors: Floats = ((both - 8) * self.scales.astype(np.float32)).reshape(len(self.numbers), -1)
        return vectors


def attention_input(layer: int) -> str:
    """Name the tensor that query, key and value of a layer are computed from."""
    return f"layer{layer}.attention_input"


def feed_forward_input(layer: int) -> str:
    """Name the tensor that the feed-forward part of a layer is computed from."""
    return f"layer{layer}.feed_forward_input"


def int8_model(
    shape: Shape, weights: Weights, smoothing: Mapping[str, Floats], *, words: FourBitTable | None = None
) -> ModelProto:
    """Build the graph with int8 products; `smoothing` divides the channels of each of the smoothed tensors.

    `words` stand in place of those among the weights, which are rounded to int8.
    """
    return _Graph(shape, weights, smoothing, words).build(("embedding",))


def fp32_model(shape: Shape, weights: Weights) -> ModelProto:
    """Build the same graph without rounding, which also gives out the smoothed tensors."""
    return _Graph(shape, weights, None, None).build(("embedding", *shape.smoothed_tensors))


def take_out_weights(model: ModelProto, file_name: str, *, smallest: int = SMALLEST_OUTSIDE) -> bytes:
    """Move constants of `smallest` bytes and more to a file beside the graph, and give what that file must hold.

    A runtime maps such a file into memory, where it reads a graph as a whole and copies each constant twice: loading
    takes 20 ms instead of 45, and 23 MB less stay in memory.
    """
    content = bytearray()
    for constant in model.graph.initializer:
        if len(constant.raw_data) < smallest:
            continue
        content += bytes(-len(content) % BLOCK)
        place = {"location": file_name, "offset": str(len(content)), "length": str(len(constant.raw_data))}
        content += constant.raw_data
        constant.ClearField("raw_data")
        constant.data_location = TensorProto.EXTERNAL
        constant.external_data.extend(StringStringEntryProto(key=key, value=value) for key, value in place.items())
    return bytes(content)


def serialized(model: ModelProto) -> bytes:
    """Return the bytes of a model, which are the same everywhere."""
    return bytes(model.SerializeToString(deterministic=True))


def kernels(weights: Weights, tensor: str) -> Floats:
    """Return the weights that multiply one of the smoothed tensors, side by side: shape (in, out)."""
    layer = _layer_name(int(tensor.removeprefix("layer").partition(".")[0]))
    parts = _QUERY_KEY_VALUE if tensor.endswith("attention_input") else ("intermediate.dense",)
    return np.concatenate([_kernel(weights, f"{layer}.{part}") for part in parts], axis=1)


_FLOAT = TensorProto.FLOAT
_QUERY_KEY_VALUE = ("attention.self.query", "attention.self.key", "attention.self.value")


def _layer_name(layer: int) -> str:
    return f"encoder.layer.{layer}"


def _kernel(weights: Weights, name: str) -> Floats:
    return weights[f"{name}.weight"].T


def _rounded(values: Floats, axis: int) -> tuple[NDArray[np.int8], Floats]:
    """Round to int8 with one scale for everything along `axis`."""
    scale = np.maximum(np.abs(values).max(axis=axis, keepdims=True) / np.float32(127), np.float32(1e-12))
    return np.rint(values / scale).astype(np.int8), scale


@dataclass
class _Graph:
    shape: Shape
    weights: Weights
    smoothing: Mapping[str, Floats] | None
    words: FourBitTable | None
    nodes: list[NodeProto] = field(default_factory=list)
    constants: list[TensorProto] = field(default_factory=list)

    def build(self, outputs: tuple[str, ...]) -> ModelProto:
        hidden = self.embeddings()
        for layer in range(self.shape.n_layers):
            hidden = self.feed_forward(self.attention(hidden, layer), layer)
        self.pooled(hidden)
        graph = helper.make_graph(
            self.nodes,
            self.shape.name,
            [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["texts", "tokens"])],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
            self.constants,
        )
        # The oldest operator sets that have what is needed, so that every supported runtime reads the file.
        operators = [helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)]
        return helper.make_model(graph, producer_name="dirindex", ir_version=8, opset_imports=operators)

    def embeddings(self) -> str:
        words = self.word_vectors() if self.words is None else self.four_bit_vectors(self.words)
        # Every text is of the first type, so its vector is added to the positions once and for all.
        places = self.weights["embeddings.position_embeddings.weight"]
        places = places + self.weights["embeddings.token_type_embeddings.weight"][:1]
        start, axis = self.constant("start", np.array([0], np.int64)), self.constant("axis", np.array([0], np.int64))
        n_tokens = self.node("Shape", ["input_ids"], "n_tokens", start=1, end=2)
        places_of_text = self.node("Slice", [self.constant("places", places), start, n_tokens, axis], "places_of_text")
        summed = self.node("Add", [words, places_of_text], "embedding_sum")
        return self.normalized(summed, "embeddings.LayerNorm", attention_input(0))

    def word_vectors(self) -> str:
        table = self.weights[WORDS]
        if self.smoothing is None:
            return self.node("Gather", [self.constant("words", table), "input_ids"], "word_vectors")
        rounded, scale = _rounded(table, axis=1)
        rows = self.node("Gather", [self.constant("words", rounded), "input_ids"], "word_rows")
        scales = self.node("Gather", [self.constant("words.scale", scale), "input_ids"], "word_scales")
        return self.node("Mul", [self.node("Cast", [rows], "word_floats", to=_FLOAT), scales], "word_vectors")

    def four_bit_vectors(self, table: FourBitTable) -> str:
        # As integers of eight bits: runtimes before 1.22 read no constants of four.
        four = self.constant("four", np.array(4, np.uint8))
        rows = self.node("Gather", [self.constant("words", table.numbers), "input_ids"], "word_rows")
        high = self.node("BitShift", [rows, four], "word_high", direction="RIGHT")
        low = self.node(
            "Sub", [rows, self.node("BitShift", [high, four], "word_high_only", direction="LEFT")], "word_low"
        )
        both = self.node("Cast", [self.node("Concat", [low, high], "word_numbers", axis=-1)], "word_floats", to=_FLOAT)
        centred = self.node("Sub", [both, self.constant("eight", np.array(8, np.float32))], "word_centred")
        scales = self.node("Gather", [self.constant("words.scale", table.scales), "input_ids"], "word_half_scales")
        scaled = self.node("Mul", [centred, self.node("Cast", [scales], "word_scales", to=_FLOAT)], "word_blocks")
        return self.node("Reshape", [scaled, self.constant("row", np.array([0, 0, -1], np.int64))], "word_vectors")

    def attention(self, hidden: str, layer: int) -> str:
        name = _layer_name(layer)
        parts = self.query_key_value(hidden, [f"{name}.{part}" for part in _QUERY_KEY_VALUE])
        context = self.node(
            "MultiHeadAttention", parts, f"{name}.context", domain=MICROSOFT, num_heads=self.shape.n_heads
        )
        attended = self.product(context, f"{name}.attention.output.dense")
        summed = self.node("Add", [attended, hidden], f"{name}.attention.sum")
        return self.normalized(summed, f"{name}.attention.output.LayerNorm", feed_forward_input(layer))

    def query_key_value(self, hidden: str, names: list[str]) -> list[str]:
        if self.smoothing is None:
            return [self.product(hidden, name) for name in names]
        # One rounding for three products; one product of three times the width is as fast, but must be split again.
        smooth, factors = self.smoothed(hidden)
        rounded = [f"{hidden}.{part}" for part in ("int8", "scale", "zero")]
        self.nodes.append(helper.make_node("DynamicQuantizeLinear", [smooth], rounded))
        return [self.integer_product(rounded, name, factors) for name in names]

    def integer_product(self, rounded: list[str], name: str, factors: Floats) -> str:
        values, scale, zero = rounded
        kernel, kernel_scale = self.kernel(name, factors)
        inputs = [values, kernel, scale, kernel_scale, zero, "", self.bias(name)]
        return self.node("MatMulIntegerToFloat", inputs, name, domain=MICROSOFT)

    def feed_forward(self, hidden: str, layer: int) -> str:
        name = _layer_name(layer)
        wide = self.product(hidden, f"{name}.intermediate.dense")
        active = self.node("Gelu", [wide], f"{name}.gelu", domain=MICROSOFT)
        is_scaled = self.smoothing is not None and layer in self.shape.scaled_by_token
        narrow = (self.product_by_token if is_scaled else self.product)(active, f"{name}.output.dense")
        summed = self.node("Add", [narrow, hidden], f"{name}.output.sum")
        output = attention_input(layer + 1) if layer + 1 < self.shape.n_layers else "hidden"
        return self.normalized(summed, f"{name}.output.LayerNorm", output)

    def product_by_token(self, hidden: str, name: str) -> str:
        largest = self.node("ReduceMax", [hidden], f"{name}.largest", axes=[-1], keepdims=1)
        floor = self.constant(f"{name}.floor", np.array([SMALLEST_TOKEN_SCALE], np.float32))
        by_token = self.node("Max", [largest, floor], f"{name}.by_token")
        scaled = self.node("Div", [hidden, by_token], f"{name}.scaled")
        kernel, kernel_scale = self.kernel(name, np.ones((1,), np.float32))
        product = self.node(
            "DynamicQuantizeMatMul", [scaled, kernel, kernel_scale], f"{name}.product", domain=MICROSOFT
        )
        unscaled = self.node("Mul", [product, by_token], f"{name}.unscaled")
        return self.node("Add", [unscaled, self.bias(name)], name)

    def product(self, hidden: str, name: str) -> str:
        if self.smoothing is None:
            kernel = self.constant(f"{name}.weight", _kernel(self.weights, name))
            return self.node("Add", [self.node("MatMul", [hidden, kernel], f"{name}.product"), self.bias(name)], name)
        smooth, factors = self.smoothed(hidden)
        inputs = [smooth, *self.kernel(name, factors), "", self.bias(name)]
        return self.node("DynamicQuantizeMatMul", inputs, name, domain=MICROSOFT)

    def smoothed(self, hidden: str) -> tuple[str, Floats]:
        """Divide the channels that are large by factors which the weights then carry (SmoothQuant)."""
        assert self.smoothing is not None  # noqa: S101 - the callers have asked
        if hidden not in self.smoothing:
            return hidden, np.ones((1,), np.float32)
        factors = self.smoothing[hidden]
        inverse = self.constant(f"{hidden}.inverse_factors", 1 / factors)
        return self.node("Mul", [hidden, inverse], f"{hidden}.smooth"), factors

    def kernel(self, name: str, factors: Floats) -> tuple[str, str]:
        rounded, scale = _rounded(_kernel(self.weights, name) * factors[:, np.newaxis], axis=0)
        return self.constant(f"{name}.weight", rounded), self.constant(f"{name}.weight.scale", scale[0])

    def bias(self, name: str) -> str:
        return self.constant(f"{name}.bias", self.weights[f"{name}.bias"])

    def normalized(self, hidden: str, name: str, output: str) -> str:
        # Microseconds a layer at 256 tokens with ONNX Runtime 1.31: this and the addition before it 100,
        # SkipLayerNormalization for both 540, addition and simpler operators (mean, difference, root mean square) 145.
        inputs = [hidden, *(self.constant(part, self.weights[part]) for part in (f"{name}.weight", f"{name}.bias"))]
        return self.node("LayerNormalization", inputs, output, axis=-1, epsilon=EPSILON)

    def pooled(self, hidden: str) -> str:
        # A sum serves as well as a mean, for the length is made 1 afterwards.
        summed = self.node(
            "ReduceSum", [hidden, self.constant("tokens_axis", np.array([1], np.int64))], "sum", keepdims=0
        )
        return self.node("LpNormalization", [summed], "embedding", axis=-1, p=2)

    def node(self, operator: str, inputs: list[str], output: str, *, domain: str = "", **attributes: Any) -> str:
        self.nodes.append(helper.make_node(operator, inputs, [output], domain=domain, **attributes))
        return output

    def constant(self, name: str, values: NDArray[Any]) -> str:
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name
