#!/usr/bin/env python3
"""Writes the demo's banks beside this file: demo.bank.json, the four kinds of pattern of the seed's sparsity table on the
demo's own vocabulary, and redundant-1, -2, -4, -8.bank.json, twelve priors that stand 1, 2, 4 and 8 times in their bank
with 3 % of their signs turned. Nothing but Python's own library; the same files every time.

    python3 resources/demo/make_banks.py
"""
import json
import pathlib
import random

HERE = pathlib.Path(__file__).resolve().parent
VOCABULARY = json.loads((HERE / "base" / "tokenizer.json").read_text())["model"]["vocab"]
TOKENIZER = "88966e41e0236bc75fe18cdd5cd244b1692ce99381d48efedebab14aae4152aa"  # of base/, as `counterpoint` tells it
SPACED = "single token with a leading space"

OUTDOORS = """park garden tree trees forest woods sky sun rain wind sand pond rock grass flower flowers sea boat bird birds
animal animals rabbit fox frog bear fish dog cat mouse butterfly hill outside leaves ground swim climb explore adventure
beach snow river""".split()
INDOORS = """house home room kitchen table door window bed box box toys toy doll book pic picture balloon cake food ate eat
cook clean store school teacher wall inside kid mom dad mommy block bus car truck pen paint""".split()
PEOPLE = """mom dad Mom Dad girl boy friend friends family parents kids child children brother sister everyone people teacher
lady man baby Mommy Daddy mum himself herself someone friendly hug hugged loved love smiled smile laughed laugh help helped
share played play playing together kind thank thanked best special happy""".split()
BRIGHT = """happy good nice best beautiful special pretty bright warm sweet soft perfect magical magic amazing delicious
friendly kind brave glad proud favorite funny wonderful strong excited ready""".split()
DARK = "sad scared bad dark broken hurt angry worry tired sorry wrong mess pain cry hard mean strange lost".split()


def known(words):
    """Words that are one token of the demo's tokenizer, each once."""
    return [w for w in dict.fromkeys(words) if "▁" + w in VOCABULARY]


def prior(name, kind, task, quality, promote, demote=(), **more):
    entry = {"name": name, "kind": kind, "task": task, "quality": quality, "confidence": 0.8,
             "promote": known(promote), "demote": [w for w in known(demote) if w not in known(promote)], "policy": SPACED,
             "when": {"kind": "always"}, "source": "resources/demo/make_banks.py"}
    entry.update(more)
    return entry


def demo():
    quote_end = {"kind": "regex", "pattern": "[,.!?]\"$", "chars": 40}
    quote = {"kind": "feature", "name": "quotation"}
    stop = {"kind": "tokens", "ids": [VOCABULARY["."]]}
    late = {"kind": "regex", "pattern": "(park|outside|garden|forest)", "chars": 200}
    measured = known("little big small old new red blue green".split())
    return {"format": "counterpoint.bank/1", "name": "story habits", "tokenizer": TOKENIZER, "stake": 1,
            "features": {"quotation": {"open": "\"", "close": "\""}},
            "priors": [
                prior("say it plainly", "API preference", "dialogue", 0.9, "said asked replied thought".split(),
                      "shouted yell cry loud".split(), when=quote_end),
                prior("the two of them", "API preference", "names", 0.7, "Lily Tim".split(),
                      "Tom Max Ben Sam Jack Jane Anna Sara Lucy Bob".split()),
                prior("give a reason", "control flow", "plot", 0.75,
                      "because so but when then if while until after before".split(), "and just again very".split()),
                prior("turn the story", "control flow", "plot", 0.8,
                      "But Then Suddenly After Finally Soon Now When One So".split(), "The She He They It".split(),
                      when=stop),
                prior("bright words", "style convention", "tone", 0.8, BRIGHT, DARK),
                prior("bright words, told again", "style convention", "tone", 0.7, BRIGHT[:-2], DARK[:-1]),
                prior("speak of me and you", "style convention", "dialogue", 0.85,
                      "you your we us our me my let can want please thank come look like have good".split(),
                      "he she they him her them their his was were".split(), when=quote),
                prior("go outside", "library selection", "setting", 0.7, OUTDOORS, INDOORS),
                prior("stay outside", "library selection", "setting", 0.995, OUTDOORS, INDOORS, when=late,
                      confidence=0.3),
                prior("among people", "library selection", "setting", 0.6, PEOPLE, OUTDOORS),
                prior("gentle push, hard brake", "style convention", "tone", 0.75, BRIGHT, DARK, delta_plus=0.5,
                      delta_minus=1.5, when=stop),
                prior("measured colours", "API preference", "tone", 0.8, [],
                      delta={str(VOCABULARY["▁" + w]): round(1.2 / (i + 1), 4) * (-1 if i % 3 == 2 else 1)
                             for i, w in enumerate(measured)}),
                prior("a doubtful one", "control flow", "plot", 0.45, "never always every ever".split(), ["not"]),
            ]}


def redundant(copies):
    noise = random.Random(copies)
    pieces = sorted(i for p, i in VOCABULARY.items() if p.startswith("▁") and len(p) > 2)
    priors = []
    for m in range(12):
        own = random.Random(1000 + m)
        ids = sorted(own.sample(pieces, 40))
        signs = [own.choice([1, -1]) for _ in ids]
        for copy in range(copies):
            turned = set(noise.sample(range(40), 1)) if copy else set()
            delta = {str(i): (-s if k in turned else s) * round(0.6 + 0.05 * copy, 2)
                     for k, (i, s) in enumerate(zip(ids, signs))}
            priors.append({"name": f"pattern {m + 1}" + (f", told again ({copy})" if copy else ""), "kind": "style convention",
                           "task": "tone" if m % 2 else "plot", "quality": 0.6, "delta": delta, "when": {"kind": "always"}})
    return {"format": "counterpoint.bank/1", "name": f"twelve patterns, {copies} times", "tokenizer": TOKENIZER, "priors": priors}


def write(name, bank):
    (HERE / name).write_text(json.dumps(bank, ensure_ascii=False, indent=1) + "\n")


if __name__ == "__main__":
    write("demo.bank.json", demo())
    for copies in (1, 2, 4, 8):
        (HERE / f"redundant-{copies}.bank.json").write_text(
            json.dumps(redundant(copies), ensure_ascii=False, separators=(",", ":")) + "\n")
