"""ONNX Runtime as all models here use it: one thread a session, quiet, and without telemetry."""

from __future__ import annotations

import os
from typing import TypeAlias

# If disabled only after its import, the runtime has already created a machine id and recorded events to upload.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as runtime_state

VERSION: str = onnxruntime.__version__

Session: TypeAlias = onnxruntime.InferenceSession

NO_OPTIMISATION = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
"""Leaves the graph of a model unchanged."""

# The runtime's exceptions have no common base class.
RUNTIME_ERRORS = (
    runtime_state.EPFail,
    runtime_state.Fail,
    runtime_state.InvalidArgument,
    runtime_state.InvalidGraph,
    runtime_state.InvalidProtobuf,
    runtime_state.NoSuchFile,
    runtime_state.NotImplemented,
    runtime_state.RuntimeException,
)


def session_options() -> onnxruntime.SessionOptions:
    """Return the options of every session."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = _LOG_ONLY_FATAL
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    # Every size of input would leave a memory plan behind.
    options.enable_mem_pattern = False
    return options


def load_session(model: str, options: onnxruntime.SessionOptions) -> Session:
    """Load a model; failures are `RUNTIME_ERRORS`."""
    onnxruntime.disable_telemetry_events()
    onnxruntime.set_default_logger_severity(_LOG_ONLY_FATAL)
    session: Session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return session


_LOG_ONLY_FATAL = 4
