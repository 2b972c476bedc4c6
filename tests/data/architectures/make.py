"""Golden logits of random toy models, one for every architecture and option, made by transformers.

    python3 -m venv V && V/bin/pip install torch transformers && V/bin/python tests/data/architectures/make.py [NAME…]

Writes NAME.json beside this script. A model's weights are not stored: element i of a tensor is centre + step·k, k in
[−most, most] by a hash of the tensor's name and i (value() below), so that a test fills the same numbers in; they are
exact in float32, float16 and bfloat16. Logits are float32, of one pass over 2,001 hashed token ids; where positions
depend on how far a text has come (dynamic), token by token with the cache.

A mixture of experts chooses, and where two experts come close a sum rounded otherwise chooses the other one: SALTS (a
text before every tensor's name in the hash) are of models whose K-th and next router logits stay apart at the stored
positions in all layers; "gap" is the least distance there, of 0.09 or more, and 'make.py search NAME…' tries salts.
Their routing at the stored positions is kept too, and how far transformers' own bfloat16 goes ("bfloat16_apart").
"""

import json
import pathlib
import sys
import tempfile

import numpy
import safetensors.torch
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


def value(name, shape, centre, step, most, salt=""):
    h = 0x811C9DC5  # FNV-1a
    for byte in (salt + name).encode():
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
    if name.endswith((".gate.weight", ".shared_expert_gate.weight")):
        return 0.0, 2.0**-8, 127
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
MIXTRAL = dict(LLAMA, num_local_experts=6, num_experts_per_tok=2, sliding_window=None)
OLMOE = dict({k: v for k, v in LLAMA.items() if k != "head_dim"}, num_experts=8, num_experts_per_tok=3, norm_topk_prob=False)
QWEN_MOE = dict(LLAMA, moe_intermediate_size=40, num_experts=8, num_experts_per_tok=3, decoder_sparse_step=1,
                mlp_only_layers=[])
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


def mixtral(**more):
    return llama("MixtralForCausalLM", "mixtral", base=MIXTRAL, **more)


def olmoe(**more):
    return llama("OlmoeForCausalLM", "olmoe", base=OLMOE, **more)


def qwen2_moe(**more):
    return llama("Qwen2MoeForCausalLM", "qwen2_moe", base=QWEN_MOE, shared_expert_intermediate_size=56, **more)


def qwen3_moe(**more):
    return llama("Qwen3MoeForCausalLM", "qwen3_moe", base=QWEN_MOE, **more)


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
    "mixtral": mixtral(),
    "mixtral-window": mixtral(sliding_window=64, num_experts_per_tok=1, tie_word_embeddings=True),
    "olmoe": olmoe(),
    "olmoe-normalised": olmoe(norm_topk_prob=True, attention_bias=True, num_key_value_heads=4, hidden_size=64),
    "qwen2-moe": qwen2_moe(norm_topk_prob=False),
    "qwen2-moe-options": qwen2_moe(norm_topk_prob=True, decoder_sparse_step=2, qkv_bias=False, num_hidden_layers=4,
                                   mlp_only_layers=[1], use_sliding_window=True, sliding_window=100,
                                   max_window_layers=2),
    "qwen3-moe": qwen3_moe(norm_topk_prob=True),
    "qwen3-moe-options": qwen3_moe(norm_topk_prob=False, mlp_only_layers=[1], attention_bias=True, num_experts_per_tok=8,
                                   use_sliding_window=True, sliding_window=70, num_local_experts=8,
                                   without=["num_experts"]),
}
SALTS = {"mixtral-window": "salt 0 ", "olmoe": "salt 10 ", "olmoe-normalised": "salt 7 ", "qwen2-moe": "salt 3 ",
         "qwen3-moe": "salt 34 "}


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


def filled_mixture(config, salt):
    """From files, where every expert has tensors of its own, as it has not in transformers' memory."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "config.json").write_text(json.dumps(config))
        read = transformers.AutoConfig.from_pretrained(folder)
        transformers.AutoModelForCausalLM.from_config(read, dtype=torch.float32).save_pretrained(folder)
        tensors, numbers = {}, {}
        with safetensors.safe_open(folder / "model.safetensors", "pt") as file:
            for stored in file.keys():  # a tied head is no tensor of its own
                tensors[stored] = [list(file.get_slice(stored).get_shape()), *law(stored, False)]
                numbers[stored] = torch.from_numpy(value(stored, *tensors[stored], salt)).float()
        safetensors.torch.save_file(numbers, folder / "model.safetensors", {"format": "pt"})
        (folder / "config.json").write_text(json.dumps(config))
        model = transformers.AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32)
    return model.eval(), tensors


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


def routing(model, config, ids):
    """Of the stored positions, layer by layer: the router's logits, who is chosen in which order, and the weights of the
    mixture; and the least distance between the last chosen and the first that is not, where there is one."""
    rows, handles = [], []
    for layer in model.model.layers:
        if hasattr(layer.mlp, "gate"):
            handles.append(layer.mlp.gate.register_forward_hook(lambda _, __, out: rows.append(out)))
    with torch.no_grad():
        model(torch.tensor([ids]))
    for handle in handles:
        handle.remove()
    shown_rows = []
    for position in POSITIONS:
        layers = []
        for logits, weights, experts in rows:
            layers.append({"logits": [float(f"{x:.7g}") for x in logits[position].tolist()],
                           "experts": experts[position].tolist(),
                           "weights": [float(f"{x:.7g}") for x in weights[position].tolist()]})
        shown_rows.append(layers)
    gap, K = float("inf"), config["num_experts_per_tok"]
    for layer in (layer for layers in shown_rows for layer in layers if len(layer["logits"]) > K):
        descending = sorted(layer["logits"], reverse=True)
        gap = min(gap, descending[K - 1] - descending[K])
    return shown_rows, gap


def bfloat16_apart(model, ids):
    """What bfloat16 costs transformers itself, where a choice may tip: the median over all positions of the largest
    difference of a log-probability, as a part of the largest logit of the stored positions. Changes the model."""
    wide = logits(model, ids, False).double()
    turning = model.model.rotary_emb.inv_freq.clone()  # float32 in a model that is loaded in bfloat16
    model.to(torch.bfloat16).model.rotary_emb.inv_freq = turning
    apart = torch.log_softmax(logits(model, ids, False).double(), -1) - torch.log_softmax(wide, -1)
    return (apart.abs().amax(-1).median() / wide[POSITIONS].abs().max()).item()


def golden(name, config):
    mixture = "num_experts_per_tok" in config
    model, tensors = filled_mixture(config, SALTS.get(name, "")) if mixture else filled(config)
    ids = (sequence(0x5EED, max(POSITIONS) + 1) % numpy.uint32(VOCABULARY)).tolist()
    dynamic = name == "llama-dynamic"
    result = {"transformers": transformers.__version__, "torch": torch.__version__, "config": config,
              "tensors": tensors, "positions": POSITIONS, "ids": STORED_IDS, "float32": shown(logits(model, ids, dynamic))}
    if config["model_type"].startswith("gemma"):  # a bfloat16 model rounds the embedding's scale
        scale = model.model.embed_tokens.embed_scale
        scale.copy_(scale.to(torch.bfloat16).float())
        result["bfloat16"] = shown(logits(model, ids, dynamic))
    if mixture:
        result["salt"] = SALTS.get(name, "")
        result["routing"], gap = routing(model, config, ids)
        result["gap"] = float(f"{gap:.3g}") if gap < float("inf") else None
        result["bfloat16_apart"] = float(f"{bfloat16_apart(model, ids):.3g}")
    lines = [json.dumps(key) + ": " + json.dumps(entry) for key, entry in result.items()]
    (HERE / f"{name}.json").write_text("{" + ",\n ".join(lines) + "}\n")
    print(name, result["float32"]["largest"], result.get("gap", ""), flush=True)


def search(name, tries=8):
    """Salts by their gaps."""
    config = CASES[name]
    ids = (sequence(0x5EED, max(POSITIONS) + 1) % numpy.uint32(VOCABULARY)).tolist()
    found = []
    for i in range(tries):
        gap = routing(filled_mixture(config, f"salt {i} ")[0], config, ids)[1]
        found.append((gap, f"salt {i} "))
    print(name, *sorted(found, reverse=True)[:3], flush=True)


if __name__ == "__main__":
    torch.manual_seed(0)
    if sys.argv[1:2] == ["search"]:
        for case in sys.argv[2:]:
            search(case)
    else:
        for case in sys.argv[1:] or CASES:
            golden(case, CASES[case])
