#!/usr/bin/env python3
"""Makes the tokenizer cases: what the Python package `tokenizers` gives for texts of many scripts.

    python3 -m venv venv && venv/bin/pip install tokenizers sentencepiece
    venv/bin/python resources/golden/make_tokenizer_cases.py SHARED tests/data/tokenizers [NAME…]

SHARED holds tokenizers/ and models/ beside the checkout. Text i is made from i and tests/data/tokenizers/texts.json by a
formula that tests/support/tokenizertexts.h repeats, so that only hashes are kept, one a block of 100 texts, and a few
cases whole. Small tokenizers, one for each family of components, are trained here on the same texts and kept beside
their cases (sentencepiece makes the character map of one). NAME: only these.
"""
import base64
import json
import pathlib
import sys

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer
from tokenizers import decoders as D, models as M, normalizers as N, pre_tokenizers as P, processors as R, trainers as T

BLOCK, WHOLE, DECODES = 100, 12, 300
MASK = (1 << 64) - 1


class Texts:
    def __init__(self, parts):
        self.__dict__.update(parts)

    def draw(self, n):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) & MASK
        return (self.state >> 33) % n

    def one(self, items):
        return items[self.draw(len(items))]

    def run(self, longest):
        first, last = self.one(self.ranges)
        return "".join(chr(first + self.draw(last - first + 1)) for _ in range(1 + self.draw(longest)))

    def part(self):
        kind = self.draw(16)
        if kind < 6:
            return self.one(self.words)
        if kind < 9:
            return " " + self.run(6)
        if kind < 11:
            return self.run(8)
        if kind < 14:
            return self.one(self.spaces)
        if kind < 15:
            return self.one(self.marks)
        return self.run(1) + "".join(chr(0x300 + self.draw(0x70)) for _ in range(1 + self.draw(3)))

    def text(self, index):
        self.state = (index * 0x9E3779B97F4A7C15 + 0x1234567) & MASK
        return "".join(self.part() for _ in range(self.draw(40 if self.draw(8) == 0 else 10)))


class Fnv:
    def __init__(self):
        self.hash = 0xCBF29CE484222325

    def add(self, data):
        h = self.hash
        for byte in data:
            h = ((h ^ byte) * 0x100000001B3) & MASK
        self.hash = h
        return self

    def ids(self, ids):
        return self.add(b"".join(i.to_bytes(4, "little") for i in [len(ids), *ids]))

    def hex(self):
        return f"{self.hash:016x}"


def encoded(tokenizer, text, control, silent=()):
    """control: marks in the text are control tokens and the template is applied; else all is ordinary text."""
    tokenizer.encode_special_tokens = not control
    ids = tokenizer.encode(text, add_special_tokens=control).ids
    return ids, tokenizer.decode([i for i in ids if i not in silent], skip_special_tokens=True)


def silenced(tokenizer):
    """Added tokens that the package decodes to another text than their own: in normalized form, or read as bytes."""
    normalized = lambda token: tokenizer.normalizer.normalize_str(token.content) if tokenizer.normalizer and token.normalized else token.content
    as_bytes = type(tokenizer.decoder) is D.ByteLevel
    return [i for i, token in tokenizer.get_added_tokens_decoder().items()
            if normalized(token) != token.content or as_bytes and not token.content.isascii()]


def cases(tokenizer, texts, count):
    blocks, whole, silent = [], [], silenced(tokenizer)
    for start in range(0, count, BLOCK):
        hashes = [Fnv(), Fnv(), Fnv()]
        for i in range(start, start + BLOCK):
            text = texts.text(i)
            hashes[0].add(text.encode())
            both = [encoded(tokenizer, text, control, silent) for control in (False, True)]
            for fnv, (ids, decoded) in zip(hashes[1:], both):
                fnv.ids(ids).add(decoded.encode())
            if i < WHOLE:
                whole.append({"text": text, "literal": both[0][0], "control": both[1][0], "decoded": both[0][1]})
        blocks.append([fnv.hex() for fnv in hashes])
    return blocks, whole


def decodes(tokenizer, texts):
    """Ids in any order. A run of bytes that is no text is shown differently (byte by byte), and left out."""
    fnv = Fnv()
    texts.state, silent = 7, silenced(tokenizer)
    for _ in range(DECODES):
        length = 1 + texts.draw(12)
        ids = [texts.draw(tokenizer.get_vocab_size()) for _ in range(length)]
        ids = [i for i in ids if i not in silent]
        text = tokenizer.decode(ids, skip_special_tokens=True)
        if "\ufffd" not in text:
            fnv.add(text.encode())
    return fnv.hex()


GPT4 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
        r"\s+(?!\S)|\s+")
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
BLOOM = r" ?[^(\s|[.,!?…。，、।۔،])]+"
HAN = r"[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+|\p{Han}+"
MARKS = [AddedToken("<mask>", lstrip=True, special=True, normalized=False), AddedToken("[TAG]", single_word=True),
         AddedToken("CAFÉ", normalized=True), AddedToken("<sep>", rstrip=True, normalized=False),
         AddedToken("<|im_start|>", special=True, normalized=True), AddedToken("<|im_end|>", lstrip=True, rstrip=True)]


def trained(model, trainer, texts, normalizer=None, pre=None, decoder=None, post=None):
    tokenizer = Tokenizer(model)
    if normalizer:
        tokenizer.normalizer = normalizer
    if pre:
        tokenizer.pre_tokenizer = pre
    known = set("".join(texts.words)) | {chr(c) for c in range(32, 127)}  # Unigram keeps every character it has seen
    seen = known.__contains__ if isinstance(trainer, T.UnigramTrainer) else lambda c: True

    def line(i):
        text = texts.text(i)
        for mark in texts.marks:  # no piece is a mark: plain text that looks like one falls into pieces
            text = text.replace(mark.strip(), "")
        return "".join(filter(seen, text))
    tokenizer.train_from_iterator(map(line, range(3000)), trainer)
    if decoder:
        tokenizer.decoder = decoder
    if post:
        tokenizer.post_processor = post(tokenizer)
    tokenizer.add_tokens(MARKS)
    return tokenizer


def template(single):
    def made(tokenizer):
        names = [part for part in single.split() if part[0] != "$"]
        return R.TemplateProcessing(single=single, special_tokens=[(n, tokenizer.token_to_id(n)) for n in set(names)])
    return made


def byte_bpe(texts, normalizer, pre, post=None, **options):
    trainer = T.BpeTrainer(vocab_size=420, special_tokens=["<|endoftext|>", "<s>", "</s>"],
                           initial_alphabet=P.ByteLevel.alphabet(), show_progress=False)
    return trained(M.BPE(**options), trainer, texts, normalizer, pre, D.ByteLevel(), post)


def with_bytes(tokenizer, decoder):
    """The same with a token for each byte, which is what its unknown characters become."""
    file = json.loads(tokenizer.to_str())
    model, names = file["model"], [f"<0x{byte:02X}>" for byte in range(256)]
    model["byte_fallback"] = True
    file["added_tokens"] = []
    pieces = [piece for piece, _ in model["vocab"]] if model["type"] == "Unigram" else model["vocab"]
    new = [name for name in names if name not in pieces]
    if model["type"] == "Unigram":
        model["vocab"] += [[name, -30.0] for name in new]
    else:
        model["fuse_unk"] = True
        model["vocab"].update({name: len(pieces) + i for i, name in enumerate(new)})
    tokenizer = Tokenizer.from_str(json.dumps(file))
    tokenizer.decoder = decoder
    tokenizer.add_special_tokens([name for name in ("<oov>", "<bos>", "<eos>", "<s>", "</s>") if tokenizer.token_to_id(name) is not None])
    tokenizer.add_tokens(MARKS)
    return tokenizer


def char_bpe(texts, normalizer, pre, decoder=None, post=None, size=500, **options):
    trainer = T.BpeTrainer(vocab_size=size, limit_alphabet=200, special_tokens=["<oov>", "<s>", "</s>"], show_progress=False)
    return trained(M.BPE(unk_token="<oov>", **options), trainer, texts, normalizer, pre, decoder, post)


def unigram(texts, normalizer, pre, decoder, post=None):
    trainer = T.UnigramTrainer(vocab_size=700, unk_token="<oov>", special_tokens=["<oov>", "<bos>", "<eos>"], show_progress=False)
    return trained(M.Unigram(), trainer, texts, normalizer, pre, decoder, post)


def charsmap(folder):
    """A character map of a few rules, of the kind that Unigram tokenizers carry."""
    import sentencepiece
    rules = {"\ufb01": "fi", "\u212b": "\u00c5", "e\u0301": "\u00e9", "a\u0300": "\u00e0", "\u3000": " ", "\t": " ",
             "\n": " ", "\r\n": " ", "\u0007": "", "\u2460": "1", "\u0130": "i\u0307", "\uff21": "A", "\uff76\uff9e": "\u30ac"}
    rules.update({chr(0xFF41 + i): chr(97 + i) for i in range(26)})
    code = lambda text: " ".join(f"{ord(c):X}" for c in text)
    (folder / "rules.tsv").write_text("".join(f"{code(a)}\t{code(b)}\n" for a, b in rules.items()))
    (folder / "lines.txt").write_text("\n".join("abcdefgh %d" % i for i in range(100)))
    sentencepiece.SentencePieceTrainer.train(input=str(folder / "lines.txt"), model_prefix=str(folder / "m"), vocab_size=30,
                                             normalization_rule_tsv=str(folder / "rules.tsv"), minloglevel=2)
    from sentencepiece import sentencepiece_model_pb2
    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString((folder / "m.model").read_bytes())
    return model.normalizer_spec.precompiled_charsmap


def precompiled(texts):
    import tempfile
    with tempfile.TemporaryDirectory() as folder:
        charmap = charsmap(pathlib.Path(folder))
    return unigram(texts, N.Sequence([N.Precompiled(charmap), N.Replace(Regex(" {2,}"), " "), N.Strip(right=False)]),
                   P.Sequence([P.WhitespaceSplit(), P.Metaspace(prepend_scheme="always")]), D.Metaspace(),
                   template("$A <eos>"))


SMALL = {
    "unigram": lambda t: unigram(t, N.NFKC(), P.Metaspace(), D.Metaspace(), template("<bos> $A <eos>")),
    "unigram-bytes": lambda t: with_bytes(
        unigram(t, None, P.Metaspace(prepend_scheme="first", split=False), None, template("<bos> $A")),
        D.Sequence([D.Replace("▁", " "), D.ByteFallback(), D.Fuse(), D.Strip(" ", 1, 0)])),
    "unigram-precompiled": precompiled,
    "bpe-bytes": lambda t: with_bytes(
        char_bpe(t, N.Replace(" ", "▁"), P.Split(" ", "merged_with_previous"), None, template("<s> $A")),
        D.Sequence([D.Replace("▁", " "), D.ByteFallback(), D.Fuse()])),
    "bpe-digits": lambda t: byte_bpe(t, N.NFC(), P.Sequence([P.Digits(individual_digits=True), P.ByteLevel(add_prefix_space=False)])),
    "bpe-gpt4": lambda t: byte_bpe(t, None, P.Sequence([P.Split(Regex(GPT4), "isolated"), P.ByteLevel(False, use_regex=False)]),
                                   lambda k: R.Sequence([R.ByteLevel(), template("<s> <|endoftext|> $A </s>")(k)]), ignore_merges=True),
    "bpe-o200k": lambda t: byte_bpe(t, N.Sequence([N.NFKD(), N.Strip()]), P.Sequence([P.Split(Regex(O200K), "removed", invert=True), P.ByteLevel(True, use_regex=False)])),
    "bpe-bloom": lambda t: byte_bpe(t, None, P.Sequence([P.Split(Regex(BLOOM), "isolated"), P.Split(Regex(HAN), "contiguous"), P.ByteLevel(False, use_regex=False)])),
    "bpe-words": lambda t: char_bpe(t, N.Sequence([N.NFD(), N.Lowercase(), N.StripAccents()]), P.Sequence([P.Whitespace(), P.Digits(False)]), D.WordPiece("@@", True)),
    "bpe-punctuation": lambda t: char_bpe(t, N.NFKD(), P.Sequence([P.CharDelimiterSplit(" "), P.Punctuation("contiguous"), P.Split(Regex(r"\w+\b|\s"), "merged_with_next"), P.FixedLength(7)]), fuse_unk=True),
    "bpe-metaspace": lambda t: char_bpe(t, N.Sequence([N.Replace(Regex(r"\s+"), " "), N.Prepend("▁")]), P.Sequence([P.Metaspace(prepend_scheme="never"), P.Punctuation("isolated")]), D.Metaspace(prepend_scheme="never")),
}
SHARED = {
    "gpt2": "tokenizers/gpt2-tokenizer/tokenizer.json",
    "gpt-neox-20b": "tokenizers/gpt-neox-20b-tokenizer/tokenizer.json",
    "stories260k": "models/stories260K/hf/tokenizer.json",
}


def write(file, value):
    file.write_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace('],["', '],\n["').replace('},{"text"', '},\n{"text"') + "\n", encoding="utf-8")


def main():
    shared, out, only = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3:]
    texts = Texts(json.loads((out / "texts.json").read_text(encoding="utf-8")))
    for name in [*SMALL, *SHARED]:
        if only and name not in only:
            continue
        if name in SMALL:
            file = out / f"{name}.json"
            file.write_text(SMALL[name](texts).to_str() + "\n", encoding="utf-8")
            path, count = f"{name}.json", 3000
        else:
            file, path, count = shared / SHARED[name], SHARED[name], 10000
        tokenizer = Tokenizer.from_file(str(file))
        tokenizer.no_truncation()
        blocks, whole = cases(tokenizer, texts, count)
        write(out / f"{name}.cases.json",
              {"tokenizer": path, "shared": name in SHARED, "made_with": "tokenizers " + tokenizers.__version__,
               "silent": silenced(tokenizer), "decodes": decodes(tokenizer, texts), "whole": whole, "blocks": blocks})
        print(name, tokenizer.get_vocab_size(), file.stat().st_size, flush=True)


if __name__ == "__main__":
    main()
