#!/usr/bin/env python3
"""Makes tests/data/tokenizers/parts.json: small tokenizers, one for each rule of a part, and what the Python package
`tokenizers` gives with them.

    python3 -m venv venv && venv/bin/pip install tokenizers
    venv/bin/python resources/golden/make_tokenizer_parts.py tests/data/tokenizers/parts.json

A row is a tokenizer.json with either a text and its ids (control tokens in it are text, as with the package's
encode_special_tokens; "around" adds what the post_processor puts around it) or ids and their decoded text.
"""
import json
import sys

import tokenizers
from tokenizers import Tokenizer

CONTROLS = ["<unk>", "<s>", "</s>"]
LETTERS = ["a", "b", "c", "▁", "-", " ", "!", ".", ",", "I", "i", "\u0307"]
ROWS = []


def added(number, content, special=False, normalized=False, **more):
    flags = dict(single_word=False, lstrip=False, rstrip=False)
    return {"id": number, "content": content, "special": special, "normalized": normalized, **flags, **more}


def small(pieces=LETTERS, model=None, more=(), **parts):
    pieces = CONTROLS + pieces
    bpe = {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None,
           "end_of_word_suffix": None, "fuse_unk": True, "byte_fallback": True,
           "vocab": {piece: i for i, piece in enumerate(pieces)}, "merges": [], **(model or {})}
    decoder = {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]}
    return {"version": "1.0", "truncation": None, "padding": None,
            "added_tokens": [added(i, c, special=True) for i, c in enumerate(CONTROLS)] + list(more), "normalizer": None,
            "pre_tokenizer": None, "post_processor": None, "decoder": decoder, "model": bpe, **parts}


def unigram(pieces, controls=0.0, byte_fallback=False):
    vocab = [[c, controls] for c in CONTROLS] + [list(p) for p in pieces]
    return {**small(), "model": {"type": "Unigram", "unk_id": 0, "vocab": vocab, "byte_fallback": byte_fallback}}


def encodes(name, tokenizer, text, around=False, control=False, of=None):
    """`of`: the tokenizer that says what is expected, where the house's rule is not the package's."""
    package = Tokenizer.from_str(json.dumps(of or tokenizer))
    package.encode_special_tokens = not control
    ids = package.encode(text, add_special_tokens=around).ids
    ROWS.append({"name": name, "tokenizer": tokenizer, "text": text, "around": around, "control": control, "ids": ids})


def decodes(name, decoder, pieces, ids):
    tokenizer = small(pieces, decoder=decoder)
    ROWS.append({"name": name, "tokenizer": tokenizer, "decode": ids,
                 "text": Tokenizer.from_str(json.dumps(tokenizer)).decode(ids)})


def split(regex, behaviour="Isolated", invert=False):
    pattern = {"Regex": regex}
    return {"type": "Split", "pattern": pattern, "behavior": behaviour, "invert": invert}


def words(name, pre_tokenizer, text, *whole):
    """A word that is a piece as a whole is that piece; any other cut shows letters."""
    pieces = sorted(set(text)) + [w for w in whole if len(w) > 1]
    encodes(name, small(pieces, {"ignore_merges": True}, pre_tokenizer=pre_tokenizer), text)


def all_rows():
    encodes("unigram: an unknown character costs 10 more than the worst piece",
            unigram([("c", -8.9), ("ax", -9.0), ("ca", -1.0)]), "cax")
    # With scores above 0 four unknown characters are better than the piece they make.
    run = unigram([("a", 20.0), ("wxyz", 15.0)], 20.0)
    encodes("unigram: an unknown run that is a piece", run, "awxyza")
    encodes("unigram: an unknown run that is none", run, "wxyzw")
    encodes("unigram: bytes only where all have tokens", unigram([("a", -1.0), ("<0xC3>", -2.0)], 0.0, True), "aéa")
    encodes("unigram: of equal pieces the last", unigram([("a", -1.0), ("b", -2.0), ("a", -5.0)]), "aba")

    for name, flags in (("special second", (False, True)), ("special first", (True, False))):
        twice = [added(15 + i, "<x>", special=s) for i, s in enumerate(flags)]
        for control in (False, True):
            encodes(f"one content twice, {name}" + (", asked for" if control else ""), small(more=twice), "a<x>b",
                    control=control)
    encodes("added: found in normalized text",
            small(more=[added(15, "AB", normalized=True)], normalizer={"type": "Lowercase"}), "cAB")
    encodes("added: strips to both sides", small(more=[added(15, "<x>", lstrip=True, rstrip=True)]), "a <x>  <x> b")

    first = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": False}
    for behaviour in ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"):
        parts = {"type": "Sequence", "pretokenizers": [split("-", behaviour), first]}
        for text in ("a-b", "-a"):
            encodes(f"start after a split, {behaviour}, {text}", small(pre_tokenizer=parts), text)
    normalizers = [
        ("strip", {"type": "Strip", "strip_left": True, "strip_right": True}, "  a b "),
        ("strip, nothing there", {"type": "Strip", "strip_left": True, "strip_right": True}, "a b"),
        ("strip at the right", {"type": "Strip", "strip_left": False, "strip_right": True}, "  a "),
        ("replace two by one", {"type": "Replace", "pattern": {"String": "bb"}, "content": "a"}, "bba"),
        ("replace one by one", {"type": "Replace", "pattern": {"String": "b"}, "content": "a"}, "ba"),
        ("replace two bytes by one", {"type": "Replace", "pattern": {"String": "é"}, "content": "a"}, "éb"),
        ("replace by nothing", {"type": "Replace", "pattern": {"String": "b"}, "content": ""}, "ba"),
        ("replace later", {"type": "Replace", "pattern": {"String": "b"}, "content": ""}, "ab"),
        ("accents before", {"type": "StripAccents"}, "\u0301a"),
        ("accents after", {"type": "StripAccents"}, "a\u0301"),
        ("accents of a later Unicode", {"type": "StripAccents"}, "a\U00010D24b"),
        ("lowercase of İ", {"type": "Lowercase"}, "\u0130a"),
    ]
    for name, normalizer, text in normalizers:
        encodes("start: " + name, small(normalizer=normalizer, pre_tokenizer=first), text)
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        pieces = ["é", "e", "\u0301", "ﬁ", "f", "i", "\U00011938", "\U00011935", "\U00011930"]
        encodes(form, small(pieces, normalizer={"type": form}), "e\u0301éﬁ\U00011935\U00011930\U00011938")
    prepend = [{"type": "Strip", "strip_left": True, "strip_right": True}, {"type": "Prepend", "prepend": "b"}]
    for text in ("  ", " a"):
        encodes(f"prepend to '{text}'", small(normalizer={"type": "Sequence", "normalizers": prepend}), text)

    # What no text becomes: expected is what the package says where no merge leads to the control token.
    pieces, toward = ["<", "s", ">", "<s"], [["<", "s"]]
    for name, more in (("merges", {}), ("whole words", {"ignore_merges": True})):
        encodes(f"control tokens are made by no {name}", small(pieces, {"merges": toward + [["<s", ">"]], **more}), "<s>",
                of=small(pieces, {"merges": toward}))

    for regex, merge in (("(?=b)", "ab"), ("b*", "ab"), ("b*", "ba"), ("^", "ab")):
        for behaviour in ("Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous"):
            for invert in (False, True):
                encodes(f"empty matches of {regex}, {behaviour}, {merge}" + (", inverted" if invert else ""),
                        small(["a", "b", "-", merge], {"merges": [list(merge)]},
                              pre_tokenizer=split(regex, behaviour, invert)), "abab-a")
    words("lines begin", split("^a"), "ab\nab", "b\n", "ab", "\na")
    words("{,m}", split("a{,2}"), "baaab", "aa", "aaa", "baaab")
    words("{n}+ repeats", split("a{2}+b"), "caaaab", "aaaab", "caaaab")
    words("\\s is White_Space", split("\\s"), "a\u180eb c", "a\u180eb")
    words("digits of all kinds", {"type": "Digits", "individual_digits": True}, "a½²1", "½²1", "½²", "½", "²")
    words("fixed length of five", {"type": "FixedLength"}, "abcdefghijk", "abcde", "fghij", "abcd", "efgh", "ijk")
    words("fixed length of three", {"type": "FixedLength", "length": 3}, "abcdéfgh", "abc", "déf", "gh", "abcd", "éfgh")
    words("punctuation", {"type": "Punctuation"}, "a!!b.", "!!")
    words("punctuation of a later Unicode", {"type": "Punctuation"}, "a\u2e52b", "a\u2e52b")
    words("delimiters", {"type": "CharDelimiterSplit", "delimiter": "-"}, "a--b-", "--")
    words("words and marks", {"type": "Whitespace"}, "ab, c!!", "ab", "ab,", "c!!", "!!")
    words("spaces and marks", {"type": "BertPreTokenizer"}, "a b,c", "a b")
    words("metaspace cuts", {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}, "▁a b",
          "▁a", "▁b", "▁a▁b", "▁▁a")

    decodes("strip of a piece, at the end", {"type": "Strip", "content": "x", "start": 0, "stop": 1}, ["xaxx", "xxx"],
            [3, 4, 3])
    decodes("strip of a piece, two at the start", {"type": "Strip", "content": "x", "start": 2, "stop": 0},
            ["xxxaxx", "xa"], [3, 4])
    for start in (0, 1):
        strip = {"type": "Strip", "content": " ", "start": start, "stop": 0}
        decodes(f"strip of the text, {start}", {"type": "Sequence", "decoders": [{"type": "Fuse"}, strip]}, [" a"], [3, 3])
    decodes("bytes", {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]},
            ["<0x4a>", "<0x4B]", "<0x4Ba"], [3, 4, 5])
    for cleanup in (True, False):
        decoder = {"type": "WordPiece", "prefix": "##", "cleanup": cleanup}
        decodes(f"word pieces, cleanup {cleanup}", decoder, ["a", "##.", ".", " do not x", "n't"], [3, 4, 5, 6, 7])
    decodes("replace in pieces", {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, ["▁a▁b"], [3, 3])
    decodes("byte level, other characters", {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True,
                                             "use_regex": True}, ["Ġa", "日", "b c", "d\u00ad", "a"],
            [3, 4, 5, 6, 7])

    token = lambda name: {"SpecialToken": {"id": name, "type_id": 0}}
    text = {"Sequence": {"id": "A", "type_id": 0}}
    two = {"type": "TemplateProcessing", "single": [token("<two>"), text],
           "pair": [text, {"Sequence": {"id": "B", "type_id": 1}}],
           "special_tokens": {"<two>": {"id": "<two>", "ids": [1, 2], "tokens": ["<s>", "</s>"]}}}
    encodes("template: a token of two ids", small(post_processor=two), "a", around=True)
    bert = {"type": "BertProcessing", "sep": ["</s>", 2], "cls": ["<s>", 1]}
    encodes("BertProcessing", small(post_processor=bert), "a", around=True)
    encodes("unknown at the end", small(), "axy")


if __name__ == "__main__":
    all_rows()
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in ROWS)
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        out.write(f'{{"tokenizers": "{tokenizers.__version__}", "rows": [\n{lines}\n]}}\n')
