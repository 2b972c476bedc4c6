#!/usr/bin/env python3
"""Writes moe.json beside this file: what transformers says greedily with the weights of resources/demo/moe, widened to
float32, after a short prompt. Made with transformers 5.24, torch 2.15:

    venv/bin/python tests/data/demo/make.py

`gap` is how far the chosen token's log-probability lay above the next one's at the closest step, in nats; `router_gap` how
far the router logit of the last expert chosen lay above that of the first one left out, at the closest position and layer.
"""
import json
import pathlib

import torch
import transformers

HERE = pathlib.Path(__file__).resolve().parent
MODEL = HERE.parents[2] / "resources" / "demo" / "moe"
PROMPT, TOKENS = "One day,", 80


def main():
    torch.set_num_threads(1)
    model = transformers.AutoModelForCausalLM.from_pretrained(MODEL, dtype=torch.float32).eval()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=str(MODEL / "tokenizer.json"))
    ids = tokenizer(PROMPT)["input_ids"]
    prompt, gap = len(ids), float("inf")
    with torch.no_grad():
        for _ in range(TOKENS):
            row = model(torch.tensor([ids])).logits[0, -1].log_softmax(-1)
            best = row.topk(2)
            gap = min(gap, float(best.values[0] - best.values[1]))
            ids.append(int(best.indices[0]))
            if ids[-1] == 2:
                break
        routers = model(torch.tensor([ids]), output_router_logits=True).router_logits
    sorted_logits = [layer.float().sort(-1, descending=True).values for layer in routers]
    router_gap = min(float((s[:, 1] - s[:, 2]).min()) for s in sorted_logits)
    report = {"prompt": PROMPT, "prompt_ids": prompt, "ids": ids, "text": tokenizer.decode(ids, skip_special_tokens=True),
              "gap": gap, "router_gap": router_gap, "transformers": transformers.__version__, "torch": torch.__version__}
    (HERE / "moe.json").write_text(json.dumps(report, ensure_ascii=False) + "\n")
    print(report)


if __name__ == "__main__":
    main()
