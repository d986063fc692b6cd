"""Peak of a core in ONNX Runtime in multiply-adds a second: products of matrices alone, in int8 and float32."""

from __future__ import annotations

import statistics
import time
from typing import NamedTuple

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

_SHAPES = ((256, 384, 1536), (256, 1536, 384), (512, 1024, 1024), (1024, 512, 512))
"""Rows and columns of the first matrix, columns of the second."""

_N_PRODUCTS = 20


class _Kind(NamedTuple):
    operator: str
    left: type[np.generic]
    right: type[np.generic]
    result: int


_INT8 = _Kind("MatMulInteger", np.uint8, np.int8, TensorProto.INT32)
_FLOAT32 = _Kind("MatMul", np.float32, np.float32, TensorProto.FLOAT)


class Peaks(NamedTuple):
    """Multiply-adds a second of processor time."""

    int8: float
    float32: float


def measured_peaks(rounds: int) -> Peaks:
    """Return the medians of the shape that suits the core best."""
    return Peaks(*(max(_median_rate(kind, shape, rounds) for shape in _SHAPES) for kind in (_INT8, _FLOAT32)))


def _median_rate(kind: _Kind, shape: tuple[int, int, int], rounds: int) -> float:
    rows, inner, columns = shape
    chance = np.random.default_rng(7)
    session = _session(kind, chance.integers(0, 100, (inner, columns)).astype(kind.right))
    feed = {"left": chance.integers(0, 100, (rows, inner)).astype(kind.left)}
    session.run(None, feed)
    return statistics.median(_N_PRODUCTS * rows * inner * columns / _seconds(session, feed) for _ in range(rounds))


def _seconds(session: onnxruntime.InferenceSession, feed: dict[str, np.ndarray]) -> float:
    started = time.process_time()
    for _ in range(_N_PRODUCTS):
        session.run(None, feed)
    return time.process_time() - started


def _session(kind: _Kind, right: np.ndarray) -> onnxruntime.InferenceSession:
    left = helper.make_tensor_value_info("left", helper.np_dtype_to_tensor_dtype(np.dtype(kind.left)), None)
    product = helper.make_tensor_value_info("product", kind.result, None)
    node = helper.make_node(kind.operator, ["left", "right"], ["product"])
    graph = helper.make_graph([node], "product", [left], [product], [numpy_helper.from_array(right, "right")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
