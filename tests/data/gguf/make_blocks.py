#!/usr/bin/env python3
"""Writes blocks.json beside this file: random blocks of every GGUF block type and what the PyPI package `gguf` widens
them to (another implementation of the same layouts). Made with gguf 0.19.0, numpy 2.4.6:

    python3 -m venv venv && venv/bin/pip install gguf==0.19.0 && venv/bin/python tests/data/gguf/make_blocks.py
"""
import json
import pathlib

import gguf
import numpy as np
from gguf.quants import dequantize

# type, blocks, byte offsets of the float16 fields
TYPES = [("Q4_0", 3, (0,)), ("Q4_1", 3, (0, 2)), ("Q5_0", 3, (0,)), ("Q5_1", 3, (0, 2)), ("Q8_0", 3, (0,)),
         ("Q4_K", 2, (0, 2)), ("Q5_K", 2, (0, 2)), ("Q6_K", 2, (208,))]
# ordinary scales, a subnormal one, the largest, and zeros of both signs
HALVES = np.array([0.0123, -0.25, 3.1e-7, 1.75, 65504.0, -0.0, 0.0], dtype=np.float16)


def main():
    random = np.random.default_rng(20)
    out = {}
    for name, blocks, fields in TYPES:
        kind = gguf.GGMLQuantizationType[name]
        size = gguf.GGML_QUANT_SIZES[kind][1]
        data = random.integers(0, 256, (blocks, size), dtype=np.uint8)
        for block in range(blocks):
            for n, at in enumerate(fields):
                half = HALVES[(block * 2 + n) % len(HALVES)]
                data[block, at:at + 2] = np.frombuffer(half.tobytes(), dtype=np.uint8)
        values = dequantize(data.reshape(1, -1), kind).astype(np.float32).ravel()
        assert np.isfinite(values).all()
        out[name] = {"hex": data.tobytes().hex(), "values": [float(v) for v in values]}
    text = json.dumps(out, separators=(",", ":")).replace('},"', '},\n"')
    pathlib.Path(__file__).with_name("blocks.json").write_text(text + "\n")


main()
