#!/usr/bin/env python3
"""The pilot of copula routing on the demo's Mixture-of-Experts model, without a display. Nothing but Python's own library
and the program itself.

    python3 resources/demo/pilot.py --program build/bin/counterpoint --text tinystories_train_2MiB.txt --out DIR

Reads the stories that every model of the demo held out (the last 150 of the text) and writes DIR/pilot.json and DIR/figures:

- cross-entropy, end to end: each story is scored once (`counterpoint run`, mode score) by the model with deterministic
  routing and, as further sources of the same session, under independent and coupled noise. A seed makes one noise for each
  story; the error is that of the mean over seeds, the text held fixed. `kl` is KL(under noise ‖ deterministic), R5's
  activity. Stories that are longer than the model can read are left out.
- coherence, boundary, distinct experts, load CV, overflow and conditional load variance over a grid of ρ and α
  (`counterpoint route`), layer-local: from the router logits of the first stories, held fixed while the noise is drawn. Means
  over layers and stories; the error is that of the draws, the stories held fixed.
"""
import argparse
import json
import math
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
HELD_OUT = 150                                       # as counterpoint_train holds out
WINDOW = 8
SCORED = [(0.5, 0.0), (0.5, 1.0), (0.9, 0.0), (0.9, 1.0)]
RHOS = [0.0, 0.25, 0.5, 0.75, 0.9, 1.0]
ALPHAS = [0.0, 0.25, 0.5, 0.75, 1.0]
GRID = sorted({(rho, 0.0) for rho in RHOS} | {(rho, alpha) for rho in (0.5, 0.9, 1.0) for alpha in ALPHAS})
METRICS = ["coherence", "boundary", "boundary_paired", "boundary_unpaired", "distinct", "cv", "overflow", "load_variance"]


def held_out(text, count):
    """The stories as counterpoint_train cuts them: what stands behind the last separator is cut off and dropped."""
    pieces = text.read_bytes().split(b"<|endoftext|>")[:-1]
    stories = [piece.strip(b" \n\r\t").decode("utf-8") for piece in pieces]
    return [s for s in stories if s][-count:]


def call(words, unless=None):
    """What the program prints; None where it refuses with the words `unless`."""
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True)
    if done.returncode == 0:
        return done.stdout
    said = done.stderr.strip()
    if unless is not None and unless in said:
        return None
    sys.exit(f"pilot.py: {said.splitlines()[-1] if said else words[0]}")


def told(value):
    """A number as the program writes it: those that are not finite stand in quotes."""
    return float(value)


def mean_se(values):
    mean = math.fsum(values) / len(values)
    if len(values) < 2:
        return {"mean": mean, "se": None}
    return {"mean": mean, "se": math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1) / len(values))}


def settings():
    yield "independent", {"mode": "independent"}
    for rho, alpha in SCORED:
        yield f"ρ {rho:g}, α {alpha:g}", {"mode": "coupled", "rho": rho, "alpha": alpha, "window": WINDOW}


def session(model, story, number, seeds):
    specialists = [{"name": f"{name}, seed {seed}", "path": model, "weight": 0.0,
                    "routing": {**routing, "seed": 1000 * seed + number}}
                   for name, routing in settings() for seed in range(1, seeds + 1)]
    return {"format": "counterpoint.session/1", "prompt": story, "mode": "score",
            "base": {"name": "deterministic", "path": model}, "specialists": specialists,
            "decoding": {"temperature": 1.0, "seed": 7}}


def score(arguments, stories):
    """Of every source: nats over all tokens, the end of each story among them, and KL. Stories that are longer than the model
    can read are left out. Also the runs that hold router logits."""
    nats, kl, tokens, scored = {}, {}, 0, []
    for number, story in enumerate(stories):
        file = arguments.out / "story.session.json"
        file.write_text(json.dumps(session(str(arguments.model.resolve()), story, number, arguments.seeds)))
        run = arguments.out / f"run-{number}"
        dump = ["--dump", "sources"] if len(scored) < arguments.routed else []
        words = [arguments.program, "run", file, "--out", run, "--threads", arguments.threads] + dump
        if call(words, unless="longer than source") is None:
            continue
        scored.append(run)
        rows = [json.loads(line) for line in (run / "trace.jsonl").read_text().splitlines()]
        for row in rows:
            end = row["token"] is None
            tokens += 1
            for source, value in (row["eos"] if end else row["log_probs"]).items():
                if source != "composed":
                    nats.setdefault(source, []).append(-math.log(told(value)) if end else -told(value))
            for source, value in row["activity"].items():
                kl.setdefault(source, []).append(told(value))
        if not dump:
            for made in sorted(run.glob("**/*"), reverse=True):
                made.unlink() if made.is_file() else made.rmdir()
            run.rmdir()
        print(f"\r{number + 1} of {len(stories)} stories", end="", file=sys.stderr)
    print(file=sys.stderr)
    file.unlink()
    deterministic = math.fsum(nats["deterministic"]) / tokens
    table = [{"routing": "deterministic", "cross_entropy": {"mean": deterministic, "se": 0.0}}]
    for name, routing in settings():
        seeds = [f"{name}, seed {seed}" for seed in range(1, arguments.seeds + 1)]
        ce = [math.fsum(nats[s]) / tokens for s in seeds]
        table.append({"routing": name, **{k: routing[k] for k in ("rho", "alpha", "window") if k in routing},
                      "cross_entropy": mean_se(ce), "above_deterministic": mean_se([v - deterministic for v in ce]),
                      "kl": mean_se([math.fsum(kl[s]) / len(kl[s]) for s in seeds])})
    return {"stories": len(scored), "left_out": len(stories) - len(scored), "tokens": tokens, "seeds": arguments.seeds,
            "table": table}, scored[:arguments.routed]


def routes(arguments, runs):
    """The grid, on the router logits of the first stories."""
    table, stories = [], len(runs)
    for rho, alpha in GRID:
        reports = [json.loads(call([arguments.program, "route", run, "--rho", rho, "--alpha", alpha,
                                    "--window", WINDOW, "--draws", arguments.draws, "--seed", 1 + n,
                                    "--threads", arguments.threads]))["pooled"] for n, run in enumerate(runs)]
        row = {"rho": rho, "alpha": alpha}
        for key in METRICS:
            row[key] = {"mean": math.fsum(told(r[key]["mean"]) for r in reports) / stories,
                        "se": math.sqrt(math.fsum(told(r[key]["se"]) ** 2 for r in reports)) / stories}
        for key in ("independent_load_variance",):
            row[key] = math.fsum(told(r[key]["mean"]) for r in reports) / stories
        row["deterministic_cv"] = math.fsum(told(r["deterministic"]["cv"]) for r in reports) / stories
        row["deterministic_overflow"] = math.fsum(told(r["deterministic"]["overflow"]) for r in reports) / stories
        table.append(row)
    return {"stories": stories, "window": WINDOW, "draws": arguments.draws, "table": table}


def estimated(name, kind, colour, x, estimates):
    return {"name": name, "kind": kind, "colour": colour, "x": x, "y": [e["mean"] for e in estimates],
            "low": [e["mean"] - e["se"] for e in estimates], "high": [e["mean"] + e["se"] for e in estimates]}


def line(name, colour, x, y):
    return {"name": name, "kind": "line", "colour": colour, "x": x, "y": y}


def curve(name, colour, x, estimates):
    """A line; one standard error to both sides is its interval."""
    return [estimated(name, "line", colour, x, estimates)]


def figures(report):
    grid = report["routing"]["table"]
    along_rho = [row for row in grid if row["alpha"] == 0]
    rhos = [row["rho"] for row in along_rho]
    per_alpha = [(rho, [row for row in grid if row["rho"] == rho]) for rho in (0.5, 0.9, 1.0)]

    def figure(name, title, x, y, series, note=""):
        axis = x if isinstance(x, dict) else {"title": x, "logarithmic": False, "categories": []}
        return {"format": "counterpoint.figure/1", "id": name, "title": title,
                "style": {"width_mm": 85, "height_mm": 60, "font_pt": 8, "line_width_pt": 0.8,
                          "font_family": "DejaVu Sans", "png_dpi": 300},
                "x": axis, "y": {"title": y, "logarithmic": False, "categories": []}, "series": series, "note": note}

    scope = "One layer at a time, given its stored router logits"
    yield figure("pilot_coherence", "Coherence and boundary against ρ", "ρ (α = 0)", "Jaccard of expert sets",
                 curve("within a window", 1, rhos, [r["coherence"] for r in along_rho])
                 + curve("across a boundary", 2, rhos, [r["boundary"] for r in along_rho]), scope)
    yield figure("pilot_distinct", "Distinct experts of a window against ρ", "ρ (α = 0)", "Distinct experts",
                 curve("distinct experts", 1, rhos, [r["distinct"] for r in along_rho]), scope)
    yield figure("pilot_boundary", "Boundary against α", "α", "Jaccard, paired windows",
                 [s for i, (rho, rows) in enumerate(per_alpha)
                  for s in curve(f"ρ = {rho:g}", 1 + i, [r["alpha"] for r in rows], [r["boundary_paired"] for r in rows])],
                 scope)
    alphas = [r["alpha"] for r in per_alpha[0][1]]
    yield figure("pilot_variance", "Conditional load variance", "α", "Σ Var(N_e | router logits)",
                 [s for i, (rho, rows) in enumerate(per_alpha)
                  for s in curve(f"ρ = {rho:g}", 1 + i, [r["alpha"] for r in rows], [r["load_variance"] for r in rows])]
                 + [line("independent", -1, alphas, [r["independent_load_variance"] for r in per_alpha[0][1]])], scope)
    yield figure("pilot_cv", "Load CV of one draw against ρ", "ρ (α = 0)", "CV of the load",
                 curve("coupled", 1, rhos, [r["cv"] for r in along_rho])
                 + [line("deterministic", -1, rhos, [r["deterministic_cv"] for r in along_rho])], scope)
    table = report["cross_entropy"]["table"][1:]
    names = {"title": "", "logarithmic": False, "categories": [row["routing"] for row in table]}
    yield figure("pilot_cross_entropy", "Cross-entropy above deterministic routing", names, "nats per token",
                 [estimated("mean ± se over seeds", "points", 1, list(range(len(table))),
                            [row["above_deterministic"] for row in table])], "Held-out stories, end to end")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, type=pathlib.Path, help="counterpoint")
    parser.add_argument("--text", required=True, type=pathlib.Path, help="stories separated by <|endoftext|>")
    parser.add_argument("--out", required=True, type=pathlib.Path, help="a folder")
    parser.add_argument("--model", type=pathlib.Path, default=HERE / "moe", help="a model with routed experts (the demo's)")
    parser.add_argument("--held-out", type=int, default=HELD_OUT, help="the last stories of the text (150)")
    parser.add_argument("--stories", type=int, help="how many of them are scored (all)")
    parser.add_argument("--routed", type=int, default=10, help="how many of them the grid is estimated on (10)")
    parser.add_argument("--seeds", type=int, default=8, help="noises of each story (8)")
    parser.add_argument("--draws", type=int, default=256, help="draws of an estimate (256)")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.stories is None:
        arguments.stories = arguments.held_out
    if arguments.seeds < 2 or arguments.draws < 2 or not 1 <= arguments.routed <= arguments.stories <= arguments.held_out:
        parser.error("--seeds and --draws are 2 or more, --routed is from 1 to --stories, --stories up to --held-out")
    for needed in (arguments.text, arguments.program, arguments.model / "config.json"):
        if not needed.is_file():
            sys.exit(f"pilot.py: {needed} is not there")
    arguments.out.mkdir(parents=True, exist_ok=True)
    stories = held_out(arguments.text, arguments.held_out)[:arguments.stories]
    entropies, runs = score(arguments, stories)
    report = {"format": "counterpoint.pilot/1", "cross_entropy": entropies, "routing": routes(arguments, runs)}
    (arguments.out / "pilot.json").write_text(json.dumps(report, ensure_ascii=False, indent=1) + "\n")
    (arguments.out / "figures").mkdir(exist_ok=True)
    for figure in figures(report):
        recipe = arguments.out / "figures" / f"{figure['id']}.json"
        recipe.write_text(json.dumps(figure, ensure_ascii=False) + "\n")
        for extension in ("pdf", "svg", "png"):
            call([arguments.program, "render", recipe, "--out", recipe.with_suffix("." + extension)])
    print(json.dumps(report, ensure_ascii=False))


if __name__ == "__main__":
    main()
