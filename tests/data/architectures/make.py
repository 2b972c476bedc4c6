"""Golden logits of random toy models, one for every architecture and option, made by transformers.

    python3 -m venv V && V/bin/pip install torch transformers && V/bin/python tests/data/architectures/make.py [NAME…]

Writes NAME.json beside this script. A model's weights are not stored: element i of a tensor is centre + step·k, k in
[−most, most] by a hash of the tensor's name and i (value() below), so that a test fills the same numbers in; they are
exact in float32, float16 and bfloat16. Logits are float32, of one pass over 2,001 hashed token ids; where positions
depend on how far a text has come (dynamic), token by token with the cache.
"""

import json
import pathlib
import sys
import tempfile

import numpy
import torch
import transformers

HERE = pathlib.Path(__file__).resolve().parent
POSITIONS = [0, 50, 500, 2000]
VOCABULARY = 96
STORED_IDS = list(range(0, VOCABULARY, 4))


def mixed(x):
    """A bijection of 32-bit numbers without visible pattern (two rounds of xor-shift and multiply)."""
    x = x.astype(numpy.uint32)
    x ^= x >> numpy.uint32(16)
    x *= numpy.uint32(0x7FEB352D)
    x ^= x >> numpy.uint32(15)
    x *= numpy.uint32(0x846CA68B)
    x ^= x >> numpy.uint32(16)
    return x


def sequence(start, n):
    steps = numpy.arange(n, dtype=numpy.uint64) * numpy.uint64(0x9E3779B9) + numpy.uint64(start)
    return mixed(steps & numpy.uint64(0xFFFFFFFF))


def value(name, shape, centre, step, most):
    h = 0x811C9DC5  # FNV-1a
    for byte in name.encode():
        h = ((h ^ byte) * 0x01000193) & 0xFFFFFFFF
    n = int(numpy.prod(shape))
    k = (sequence(h, n) % numpy.uint32(2 * most + 1)).astype(numpy.int64) - most
    return (centre + step * k.astype(numpy.float64)).reshape(shape)


def law(name, gemma):
    """Centre, step and most of a tensor: attention so sharp that every norm, bias and position is visible, and not so
    sharp that bfloat16 cannot follow."""
    if name.endswith(".bias"):
        return 0.0, 2.0**-7, 127
    if "q_norm" in name or "k_norm" in name:
        return (0.5 if gemma else 1.5), 2.0**-6, 32
    if "norm" in name or ".ln_" in name:
        return (0.0 if gemma else 1.0), 2.0**-7, 48
    if "embed_tokens" in name or "wte" in name or "wpe" in name or "embed_in" in name:
        return 0.0, 2.0**-7, 127
    if any(part in name for part in ("q_proj", "k_proj", "qkv", "c_attn", "query_key_value")):
        return 0.0, 2.0**-8, 64
    if "lm_head" in name or "embed_out" in name:
        return 0.0, 2.0**-8, 127
    return 0.0, 2.0**-9, 127


MARKS = dict(bos_token_id=1, eos_token_id=2, pad_token_id=None)
LLAMA = dict(**MARKS, vocab_size=VOCABULARY, hidden_size=48, intermediate_size=80, num_hidden_layers=3, num_attention_heads=4,
             num_key_value_heads=2, head_dim=16, hidden_act="silu", max_position_embeddings=2048, rms_norm_eps=1e-5,
             rope_theta=10000.0, tie_word_embeddings=False)
GEMMA = dict(**MARKS, vocab_size=VOCABULARY, hidden_size=48, intermediate_size=80, num_hidden_layers=4, num_attention_heads=4,
             num_key_value_heads=2, head_dim=16, hidden_activation="gelu_pytorch_tanh", max_position_embeddings=2048,
             rms_norm_eps=1e-6, query_pre_attn_scalar=24, sliding_window=100, attention_bias=False)
NEOX = dict(**MARKS, vocab_size=VOCABULARY, hidden_size=64, intermediate_size=96, num_hidden_layers=3, num_attention_heads=4,
            hidden_act="gelu", max_position_embeddings=2048, layer_norm_eps=1e-5, rotary_pct=0.25,
            rotary_emb_base=10000, use_parallel_residual=True, tie_word_embeddings=False)
GPT2 = dict(**MARKS, vocab_size=VOCABULARY, n_embd=48, n_layer=3, n_head=4, n_positions=2048, layer_norm_epsilon=1e-5,
            activation_function="gelu_new")
PHI3 = {**LLAMA, "rms_norm_eps": 1e-5, "sliding_window": None}
SLIDING, FULL = "sliding_attention", "full_attention"


def llama(architecture="LlamaForCausalLM", model_type="llama", base=LLAMA, without=(), **more):
    merged = {"architectures": [architecture], "model_type": model_type, **base, **more}
    return {key: v for key, v in merged.items() if key not in without}


def mistral(**more):
    return llama("MistralForCausalLM", "mistral", **more)


def qwen2(**more):
    return llama("Qwen2ForCausalLM", "qwen2", **more)


def qwen3(**more):
    return llama("Qwen3ForCausalLM", "qwen3", **more)


def gemma2(**more):
    return llama("Gemma2ForCausalLM", "gemma2", base=GEMMA, **more)


def gemma3(**more):
    return llama("Gemma3ForCausalLM", "gemma3_text", base=GEMMA, **more)


def gpt2(**more):
    return llama("GPT2LMHeadModel", "gpt2", base=GPT2, **more)


def neox(**more):
    return llama("GPTNeoXForCausalLM", "gpt_neox", base=NEOX, **more)


def phi3(**more):
    return llama("Phi3ForCausalLM", "phi3", base=PHI3, **more)


CASES = {
    "llama": llama(),
    "llama-tied-biases": llama(tie_word_embeddings=True, attention_bias=True, mlp_bias=True, hidden_size=64,
                               without=["head_dim"]),
    "llama-linear": llama(rope_scaling={"type": "linear", "factor": 4.0}),
    "llama-dynamic": llama(rope_scaling={"rope_type": "dynamic", "factor": 4.0}, max_position_embeddings=512),
    "llama-llama3": llama(rope_scaling={"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                                        "high_freq_factor": 4.0, "original_max_position_embeddings": 64}),
    "llama-yarn": llama(rope_scaling={"type": "yarn", "factor": 8.0, "original_max_position_embeddings": 256},
                        max_position_embeddings=256),
    "llama-yarn-options": llama(rope_parameters={"rope_type": "yarn", "rope_theta": 500.5, "factor": 8.0,
                                                 "original_max_position_embeddings": 256, "beta_fast": 16.0,
                                                 "beta_slow": 2.0, "truncate": False, "mscale": 1.5,
                                                 "mscale_all_dim": 0.5}, without=["rope_theta"]),
    "llama-yarn-stated": llama(rope_parameters={"rope_type": "yarn", "rope_theta": 10000.0, "factor": 8.0,
                                                "original_max_position_embeddings": 256, "attention_factor": 0.8},
                               without=["rope_theta"]),
    "smollm": llama(num_attention_heads=3, num_key_value_heads=1, tie_word_embeddings=True, rope_theta=100000,
                    rms_norm_eps=1e-5, without=["head_dim"]),
    "mistral": mistral(sliding_window=None),
    "mistral-window": mistral(sliding_window=64),
    "qwen2": qwen2(use_sliding_window=False, sliding_window=64, tie_word_embeddings=True),
    "qwen2-window": qwen2(use_sliding_window=True, sliding_window=100, max_window_layers=2),
    "qwen3": qwen3(tie_word_embeddings=True),
    "qwen3-layer-types": qwen3(attention_bias=True, use_sliding_window=True, sliding_window=70,
                               layer_types=[SLIDING, FULL, SLIDING]),
    "smollm3": llama("SmolLM3ForCausalLM", "smollm3", no_rope_layers=[1, 0, 1], tie_word_embeddings=True),
    "gpt2": gpt2(),
    "gpt2-options": gpt2(n_inner=80, activation_function="gelu", scale_attn_weights=False, tie_word_embeddings=False),
    "gemma2": gemma2(attn_logit_softcapping=8.0, final_logit_softcapping=15.0),
    "gemma2-uncapped": gemma2(attn_logit_softcapping=None, final_logit_softcapping=None, attention_bias=True,
                              layer_types=[FULL, SLIDING, SLIDING, FULL], tie_word_embeddings=False),
    "gemma3": gemma3(sliding_window_pattern=3, rope_theta=1000000.0, rope_local_base_freq=500.0,
                     rope_scaling={"rope_type": "linear", "factor": 8.0}),
    "gemma3-layer-types": gemma3(final_logit_softcapping=15.0, layer_types=[SLIDING, FULL, SLIDING, SLIDING],
                                 rope_parameters={FULL: {"rope_type": "default", "rope_theta": 20000.0},
                                                  SLIDING: {"rope_type": "default", "rope_theta": 300.0}}),
    "gemma3-capped": gemma3(attn_logit_softcapping=2.0, sliding_window_pattern=3),  # the cap is not followed
    "gpt-neox": neox(),
    "gpt-neox-options": neox(use_parallel_residual=False, attention_bias=False, rotary_pct=1.0, hidden_act="gelu_fast",
                             rope_scaling={"type": "linear", "factor": 3.0}),
    "phi3": phi3(sliding_window=64, partial_rotary_factor=0.75, without=["head_dim"], hidden_size=64),
    "phi3-plain": phi3(tie_word_embeddings=True, without=["head_dim"], hidden_size=64),
}


def filled(config):
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "config.json").write_text(json.dumps(config))
        read = transformers.AutoConfig.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_config(read, attn_implementation="eager", dtype=torch.float32).eval()
    tensors, gemma = {}, config["model_type"].startswith("gemma")
    for name, parameter in model.named_parameters():  # a tied head is no parameter of its own
        stored = "embed_out.weight" if config["model_type"] == "gpt_neox" and name == "lm_head.weight" else name
        tensors[stored] = [list(parameter.shape), *law(stored, gemma)]
        parameter.data.copy_(torch.from_numpy(value(stored, *tensors[stored])))
    return model, tensors


def logits(model, ids, step_by_step):
    with torch.no_grad():
        if not step_by_step:
            return model(torch.tensor([ids])).logits[0]
        rows, cache = [], None
        for token in ids:
            out = model(torch.tensor([[token]]), past_key_values=cache, use_cache=True)
            cache = out.past_key_values
            rows.append(out.logits[0, 0])
        return torch.stack(rows)


def shown(rows):
    chosen = rows.double()[POSITIONS]
    return {"logits": [[float(f"{x:.7g}") for x in row[STORED_IDS].tolist()] for row in chosen],
            "log_sum_exp": [float(f"{x:.7g}") for x in torch.logsumexp(chosen, -1).tolist()],
            "largest": float(f"{chosen.abs().max().item():.7g}")}


def golden(name, config):
    model, tensors = filled(config)
    ids = (sequence(0x5EED, max(POSITIONS) + 1) % numpy.uint32(VOCABULARY)).tolist()
    dynamic = name == "llama-dynamic"
    result = {"transformers": transformers.__version__, "torch": torch.__version__, "config": config,
              "tensors": tensors, "positions": POSITIONS, "ids": STORED_IDS, "float32": shown(logits(model, ids, dynamic))}
    if config["model_type"].startswith("gemma"):  # a bfloat16 model rounds the embedding's scale
        scale = model.model.embed_tokens.embed_scale
        scale.copy_(scale.to(torch.bfloat16).float())
        result["bfloat16"] = shown(logits(model, ids, dynamic))
    lines = [json.dumps(key) + ": " + json.dumps(entry) for key, entry in result.items()]
    (HERE / f"{name}.json").write_text("{" + ",\n ".join(lines) + "}\n")
    print(name, result["float32"]["largest"], flush=True)


if __name__ == "__main__":
    torch.manual_seed(0)
    for case in sys.argv[1:] or CASES:
        golden(case, CASES[case])
