"""Read pictures with the code of the package rapidocr itself, on one thread and without its model of directions."""

from __future__ import annotations

import numpy as np
from answering import answer, pixels_of
from rapidocr import RapidOCR

_SETTINGS = {
    "EngineConfig.onnxruntime.intra_op_num_threads": 1,
    "EngineConfig.onnxruntime.inter_op_num_threads": 1,
    "Global.use_cls": False,
    "Global.log_level": "error",
}


def main() -> None:
    engine = RapidOCR(params=_SETTINGS)

    def read(path: str, _: str) -> str:
        width, height, samples = pixels_of(path)
        grey = np.frombuffer(samples, np.uint8).reshape(height, width)
        return "\n".join(engine(np.repeat(grey[:, :, None], 3, axis=2), use_cls=False).txts or ())

    answer(read)


if __name__ == "__main__":
    main()
