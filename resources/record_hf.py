#!/usr/bin/env python3
"""Writes a recording (SPEC: counterpoint.recording/1) of what transformers models say about one text.

    record_hf.py --out r.safetensors --text "Once upon a time" base=MODEL [math=MODEL ...] [options]

The first model is the base; MODEL is a folder or a name that transformers can load. Every model reads the same tokens
(the base's tokenizer), one model after the other, so only one is in memory at a time; rows go to the file as they come,
so the logits never are. Models of another tokenizer are refused. Needs torch and transformers.

  --text TEXT | --text-file FILE | --ids "1,5,3"   the text, or its token ids
  --continue N        lets the base go on greedily for N tokens first
  --dtype TYPE        of the logits in the file: float32 (default), float16, bfloat16
  --model-dtype TYPE  the models compute in: auto (default: as stored), float32, float16, bfloat16
  --device DEVICE     cpu (default), cuda, or auto (accelerate spreads the layers)
  --chunk N           tokens fed at once (default 256)
  --router            also router logits, from models that give them (mixtures of experts)
  --no-tokenizer      do not name the base's folder as the tokenizer
"""
import argparse
import importlib.util
import json
import os
import sys
import tempfile

DTYPES = {"float32": "F32", "float16": "F16", "bfloat16": "BF16"}
NEEDED = ("torch", "transformers")
RESERVED = ("composed", "temperature", "none", "several", "nobody")  # the names a session keeps for itself


def fail(sentence):
    sys.exit("record_hf.py: " + sentence)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="NAME=MODEL")
    parser.add_argument("--out", required=True)
    text = parser.add_mutually_exclusive_group(required=True)
    text.add_argument("--text")
    text.add_argument("--text-file")
    text.add_argument("--ids")
    parser.add_argument("--continue", dest="more", type=int, default=0)
    parser.add_argument("--dtype", choices=DTYPES, default="float32")
    parser.add_argument("--model-dtype", choices=["auto", *DTYPES], default="auto")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--chunk", type=int, default=256)
    parser.add_argument("--router", action="store_true")
    parser.add_argument("--no-tokenizer", action="store_true")
    given = parser.parse_args()
    given.models = [m.split("=", 1) if "=" in m else fail(f"'{m}' is not NAME=MODEL") for m in given.models]
    names = [name for name, _ in given.models]
    if len(set(names)) != len(names) or not all(names):
        fail("every model needs a name of its own")
    for at, name in enumerate(names):
        if name in RESERVED:
            fail(f"the name '{name}' is reserved; give the model another one")
        if any(ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0 or c in "\u2028\u2029" for c in name):
            fail("a model's name holds a line end or another control character; give it another one")
        if at > 0 and name == "base":
            fail("the name 'base' is the first model's and cannot be another's")
    try:
        given.ids = None if given.ids is None else [int(i) for i in given.ids.split(",")]
    except ValueError:
        fail(f"--ids takes whole numbers with commas between them, not '{given.ids}'")
    if given.text_file is not None:
        try:
            with open(given.text_file, encoding="utf-8") as file:
                given.text = file.read()
        except OSError as error:
            fail(f"{given.text_file}: {error.strerror}; check the path")
        except UnicodeDecodeError:
            fail(f"{given.text_file}: this is not UTF-8; convert it first")
    for name, path in given.models:  # a name without a slash at the front may be one of the hub's
        if (path.startswith((".", "/", "~")) or path.count("/") > 1) and not os.path.isdir(path):
            fail(f"'{name}': {path}: there is no such folder; check the path")
    folder = os.path.dirname(os.path.abspath(given.out))
    if not os.path.isdir(folder):
        fail(f"{folder}: there is no such folder; make it first")
    if given.chunk < 1 or given.more < 0:
        fail("--chunk must be 1 or more, --continue 0 or more")
    return given


def load_packages():
    """After the arguments, so that --help and a slip in them need neither package."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        packages = "package " + missing[0] + " is" if len(missing) == 1 else "packages " + " and ".join(missing) + " are"
        fail(f"the Python {packages} missing; install with: pip install {' '.join(missing)}")
    global torch, transformers
    import torch
    import transformers


def load(path, given):
    dtype = given.model_dtype if given.model_dtype == "auto" else getattr(torch, given.model_dtype)
    spread = {"device_map": "auto"} if given.device == "auto" else {}
    model = transformers.AutoModelForCausalLM.from_pretrained(path, dtype=dtype, **spread)
    return (model if spread else model.to(given.device)).eval()


def forwards(model, tokens, chunk, **options):
    """Outputs chunk by chunk, with the cache between them; where each begins."""
    cache = None
    for at in range(0, len(tokens), chunk):
        ids = torch.tensor([tokens[at : at + chunk]], device=model.device)
        with torch.inference_mode():
            out = model(input_ids=ids, past_key_values=cache, use_cache=True, **options)
        cache = out.past_key_values
        yield at, out


def continued(model, tokens, count, chunk):
    """tokens with `count` greedy ones behind them."""
    tokens, cache, fed = list(tokens), None, 0
    for _ in range(count):
        while fed < len(tokens):
            part = tokens[fed : fed + chunk]
            with torch.inference_mode():
                out = model(input_ids=torch.tensor([part], device=model.device), past_key_values=cache, use_cache=True)
            cache, fed = out.past_key_values, fed + len(part)
        tokens.append(int(out.logits[0, -1].argmax()))
    return tokens


def narrowed(rows, dtype, name, at):
    """The rows in the file's type; a number that it cannot hold would make a file that nobody opens."""
    narrow = rows.to(dtype)
    lost = (torch.isinf(narrow) & ~torch.isinf(rows)).any(dim=-1).nonzero()
    if len(lost) > 0:
        fail(f"'{name}': row {at + int(lost[0])} has numbers that {dtype} cannot hold; record with --dtype float32")
    return narrow


def raw(tensor):
    return tensor.contiguous().cpu().view(torch.uint8).numpy().tobytes()


class Recording:
    """A safetensors file whose header is written first and whose rows come as they are made. It is written beside the
    target and renamed over it at the end, so that nobody meets half a recording."""

    def __init__(self, path, entries, metadata):
        header, at, self.begin = {"__metadata__": metadata}, 0, {}
        for name, (tag, size, shape) in entries.items():
            count = size
            for n in shape:
                count *= n
            header[name] = {"dtype": tag, "shape": shape, "data_offsets": [at, at + count]}
            self.begin[name] = at
            at += count
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        self.path, self.data = path, 8 + len(text)
        handle, self.part = tempfile.mkstemp(dir=os.path.dirname(os.path.abspath(path)), suffix=".part")
        self.file = os.fdopen(handle, "wb")
        self.file.write(len(text).to_bytes(8, "little") + text)
        self.file.truncate(self.data + at)

    def write(self, name, offset, data):
        self.file.seek(self.data + self.begin[name] + offset)
        self.file.write(data)

    def close(self):
        self.file.flush()
        os.fsync(self.file.fileno())
        self.file.close()
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(self.part, 0o666 & ~mask)
        os.replace(self.part, self.path)

    def discard(self):
        self.file.close()
        if os.path.exists(self.part):
            os.unlink(self.part)


def router_of(model):
    """Layers with router logits, experts per token and the renormalisation flag, as the model's config tells them."""
    config = model.config
    per_token = getattr(config, "num_experts_per_tok", None) or getattr(config, "moe_k", None)
    if per_token is None:
        fail("this model's config tells no number of experts per token")
    layers = [i for i in range(config.num_hidden_layers) if has_experts(config, i)]
    # Without the key the architecture decides: Mixtral renormalises over the chosen.
    norm = getattr(config, "norm_topk_prob", config.model_type == "mixtral")
    return layers, int(per_token), bool(norm)


def has_experts(config, layer):
    if layer in (getattr(config, "mlp_only_layers", None) or []):
        return False
    return (layer + 1) % (getattr(config, "decoder_sparse_step", None) or 1) == 0


def stacked(out):
    """Router logits of one chunk as [L, tokens, E]. Some versions of transformers give the router's probabilities under
    this name; their logarithms are logits of the same law."""
    routers = torch.stack([layer.reshape(-1, layer.shape[-1]) for layer in out.router_logits]).float()
    probabilities = bool((routers >= 0).all()) and bool(((routers.sum(-1) - 1).abs() < 1e-2).all())
    return routers.log() if probabilities else routers


def main():
    given = arguments()
    load_packages()
    names = [name for name, _ in given.models]
    base = given.models[0][1]
    # Ids need no tokenizer; but where the base has one, the others must have the same.
    tokenizer = None if given.ids and given.no_tokenizer else transformers.AutoTokenizer.from_pretrained(base)
    tokens = given.ids or tokenizer(given.text)["input_ids"]
    if not tokens:
        fail("the text has no tokens")
    for _, path in given.models[1:] if tokenizer is not None else []:
        other = transformers.AutoTokenizer.from_pretrained(path)
        if other.get_vocab() != tokenizer.get_vocab():
            fail(f"{path} has another vocabulary than {base}; sources are composed id by id")

    metadata = {"format": "counterpoint.recording/1", "base": names[0]}
    if not given.no_tokenizer and os.path.isdir(base):
        metadata["tokenizer"] = os.path.relpath(base, os.path.dirname(os.path.abspath(given.out)))
    dtype, tag = getattr(torch, given.dtype), DTYPES[given.dtype]
    size = torch.empty((), dtype=dtype).element_size()
    recording = None
    try:
        for name, path in given.models:
            model = load(path, given)
            if recording is None:
                V = model.config.get_text_config().vocab_size
                if not all(0 <= t < V for t in tokens):
                    fail(f"'{name}' has ids 0 to {V - 1}; the text has {next(t for t in tokens if not 0 <= t < V)}")
                tokens = continued(model, tokens, given.more, given.chunk)
                T = len(tokens)
                entries = {"tokens": ("I64", 8, [T])}
                entries |= {"logits." + n: (tag, size, [T, V]) for n in names}
                if given.router:
                    layers, per_token, norm = router_of(model)
                    experts = stacked(next(forwards(model, tokens[:1], 1, output_router_logits=True))[1]).shape[-1]
                    entries |= {"router_logits." + n: (tag, size, [len(layers), T, experts]) for n in names}
                    metadata |= {"router_layers": ",".join(map(str, layers)), "experts_per_token": str(per_token),
                                 "norm_topk_prob": "true" if norm else "false"}
                # Widest numbers first: every tensor is then aligned to its type.
                recording = Recording(given.out, entries, metadata)
                recording.write("tokens", 0, raw(torch.tensor(tokens, dtype=torch.int64)))
            options = {"output_router_logits": True} if given.router else {}
            for at, out in forwards(model, tokens, given.chunk, **options):
                rows = out.logits[0].float()
                if rows.shape[1] != V:
                    fail(f"'{name}' gives {rows.shape[1]} logits a token, '{names[0]}' {V}")
                recording.write("logits." + name, at * V * size, raw(narrowed(rows, dtype, name, at)))
                if given.router:
                    routers = stacked(out)
                    if [routers.shape[0], routers.shape[2]] != [len(layers), experts]:
                        fail(f"'{name}' routes in another shape than '{names[0]}'")
                    for layer, logits in enumerate(routers):
                        recording.write("router_logits." + name, (layer * T + at) * experts * size, raw(narrowed(logits, dtype, name, at)))
                print(f"\r{name}: {min(at + given.chunk, T)} of {T} tokens", end="", file=sys.stderr)
            print(file=sys.stderr)
            del model
        recording.close()
    except BaseException:
        if recording is not None:
            recording.discard()
        raise
    print(f"{given.out}: {T} tokens, {V} ids, {', '.join(names)}")


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError, RuntimeError) as error:  # of files, transformers and devices, which say more than a line
        fail((str(error).splitlines() or [type(error).__name__])[0])
