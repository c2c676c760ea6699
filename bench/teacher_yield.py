"""Yield of the teacher: random programs → answers → verdicts on the tile machine → table operator × verdict.

    python bench/teacher_yield.py --per-op 2 --answers 2 --work /tmp/yield            # level 1, every row of the catalogue
    python bench/teacher_yield.py --level 2 --count 300 --answers 2 --work /tmp/yield2

Level 1 asks `synth` for --per-op programs of every row by itself; higher levels draw --count programs over all rows.
Every program is answered in strict form. Answers beyond --answers are left out, chosen by the seed, so that all strategies
get their share. Rows that synth cannot draw are named; most of them have a program written by hand (--by-hand).
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
BINARY = pathlib.Path(os.environ.get("TRITOGEN_BINARY", ROOT / "build/release/tritogen"))
TEACH = pathlib.Path(os.environ.get("TEACH_FILE", ROOT / "build/release/teach_file"))
PYTHON = pathlib.Path(os.environ.get("TRITOGEN_PYTHON", ROOT / ".venv/bin/python"))
TYPES = {"float32": "torch.float32", "int64": "torch.int64", "bool": "torch.bool"}


# Rows that synth does not draw, by hand: inputs' shapes, calls. Random numbers and undefined memory have no answer to judge.
BY_HAND = {
    "full": ([(4, 6)], "torch.full([4, 6], 1.5)"), "zeros": ([(4, 6)], "torch.zeros([4, 6])"), "ones": ([(4, 6)], "torch.ones([4, 6])"),
    "arange": ([(5,)], "torch.arange(2, 9, 3)"), "eye": ([(4, 6)], "torch.eye(4, 6)"), "linspace": ([(8,)], "torch.linspace(0.0, 1.0, 8)"),
    "scalar_tensor": ([(3,)], "torch.scalar_tensor(1.5)"), "full_like": ([(4, 6)], "torch.full_like(x0, 1.5)"),
    "zeros_like": ([(4, 6)], "torch.zeros_like(x0)"), "ones_like": ([(4, 6)], "torch.ones_like(x0)"),
    "view": ([(4, 6)], "x0.view([8, 3])"), "view_as": ([(4, 6), (8, 3)], "x0.view_as(x1)"), "squeeze": ([(4, 1, 6)], "torch.squeeze(x0, dim=1)"),
    "split": ([(4, 6)], "torch.split(x0, 2, dim=1)"), "split_with_sizes": ([(4, 6)], "torch.split(x0, [1, 5], dim=1)"),
    "chunk": ([(4, 6)], "torch.chunk(x0, 2, dim=1)"), "unbind": ([(2, 6)], "torch.unbind(x0, dim=0)"),
    "_unsafe_view": ([(4, 6)], "torch.ops.aten._unsafe_view(x0, [8, 3])"), "detach": ([(4, 6)], "torch.ops.aten.detach(x0)"),
    "alias": ([(4, 6)], "torch.ops.aten.alias(x0)"), "_prelu_kernel": ([(4, 6), (1, 6)], "torch.ops.aten._prelu_kernel(x0, x1)"),
    "_softmax": ([(4, 6)], "torch.ops.aten._softmax(x0, 1, False)"), "_log_softmax": ([(4, 6)], "torch.ops.aten._log_softmax(x0, 1, False)"),
    "_safe_softmax": ([(4, 6)], "torch.ops.aten._safe_softmax(x0, 1)"), "norm": ([(4, 6)], "torch.ops.aten.norm.ScalarOpt_dim(x0, 2, [1])"),
}

# The same where a call has several results or needs another call before: inputs' shapes, lines, what is returned.
LINES_BY_HAND = {
    "_to_copy": ([(4, 6)], ["y = x0.to(dtype=torch.float16)"], "y"),
    "adaptive_max_pool1d": ([(2, 4, 7)], ["y, i = torch.ops.aten.adaptive_max_pool1d.default(x0, [3])"], "y, i"),
    "adaptive_max_pool2d": ([(2, 3, 5, 6)], ["y, i = torch.ops.aten.adaptive_max_pool2d.default(x0, [2, 3])"], "y, i"),
    "adaptive_max_pool3d": ([(2, 3, 5, 6, 4)], ["y, i = torch.ops.aten.adaptive_max_pool3d.default(x0, [2, 3, 2])"], "y, i"),
    "index": ([(4, 6), (4, 5)], ["a = torch.argmax(x1, dim=0)", "y = torch.ops.aten.index.Tensor(x0, [a])"], "y"),
    "std": ([(4, 6)], ["y = torch.ops.aten.std.default(x0)"], "y"), "std.dim": ([(4, 6)], ["y = torch.ops.aten.std.dim(x0, [1])"], "y"),
    "var": ([(4, 6)], ["y = torch.ops.aten.var.default(x0)"], "y"), "var.dim": ([(4, 6)], ["y = torch.ops.aten.var.dim(x0, [1])"], "y"),
    "max_pool2d_with_indices": ([(2, 3, 6, 8)], ["y, i = torch.ops.aten.max_pool2d_with_indices.default(x0, [2, 2])"], "y, i"),
    "max_pool3d_with_indices": ([(2, 3, 4, 6, 8)], ["y, i = torch.ops.aten.max_pool3d_with_indices.default(x0, [2, 2, 2])"], "y, i"),
    "native_layer_norm": ([(4, 6), (6,), (6,)], ["y, m, r = torch.ops.aten.native_layer_norm.default(x0, [6], x1, x2, 1e-05)"], "y, m, r"),
    "native_group_norm": ([(2, 4, 9), (4,), (4,)], ["y, m, r = torch.ops.aten.native_group_norm.default(x0, x1, x2, 2, 4, 9, 2, 1e-05)"], "y, m, r"),
    "nll_loss_forward": ([(4, 6), (4, 6)], ["a = torch.argmax(x1, dim=1)", "y, w = torch.ops.aten.nll_loss_forward.default(x0, a, None, 1, -100)"], "y"),
    "lift_fresh": ([(4, 6)], ["y = torch.ops.aten.lift_fresh.default(x0)"], "y"),
    "_fused_rms_norm": ([(4, 6), (6,)], ["y, r = torch.ops.aten._fused_rms_norm.default(x0, [6], x1, 1e-05)"], "y, r"),
}


def by_hand():
    """Records as synth would give them; the wrapper of a file records the call, so its text needs no more than shapes."""
    rows = dict(LINES_BY_HAND)
    for row, (shapes, call) in BY_HAND.items():
        count = {"split": 3, "split_with_sizes": 2, "chunk": 2, "unbind": 2}.get(row, 1)
        results = ", ".join(f"y{i}" for i in range(count))
        rows[row] = (shapes, [f"{results} = {call}"], results)
    records = []
    for row, (shapes, lines, results) in rows.items():
        names = [f"x{i}" for i in range(len(shapes))]
        inputs = [{"dtype": "float32", "shape": list(shape)} for shape in shapes]
        text = f"import torch\n\n\ndef program({', '.join(names)}):\n"
        text += "".join(f"    # {n}: float32{list(s)}\n" for n, s in zip(names, shapes)) + "".join(f"    {line}\n" for line in lines)
        text += f"    return {'(' + results + ')' if ',' in results else results}\n"
        records.append({"program": text, "ops": [row], "inputs": inputs})
    return records


def rows():
    """Names of all rows, in the catalogue's order."""
    text = "".join(path.read_text() for path in sorted((ROOT / "src/program").glob("rows_*.cc")))
    return re.findall(r'\{\.name = "([^"]+)"', text)


def synth(*arguments):
    done = subprocess.run([BINARY, "synth", *map(str, arguments)], capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr.strip().split("\n")[-1]


def draw(args):
    """Programs, and the rows for which there are none with the reason."""
    sizes = ["--max-elements", args.max_elements, "--max-flops", args.max_flops, "--seed", args.seed]
    if args.level > 1 and not args.ops:
        return synth("--level", args.level, "--count", args.count, *sizes)[0], {}
    programs, missing = [], {}
    wanted = args.ops.split(",") if args.ops else rows()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        drawn = pool.map(lambda row: synth("--level", args.level, "--ops", row + ".default" * (row == "all"), "--count", args.per_op, *sizes), wanted)
    for row, (found, words) in zip(wanted, drawn):
        programs += found
        if not found:
            missing[row] = words
    return programs, missing


def value(description):
    """Python expression for one input."""
    dtype, shape = description["dtype"], tuple(description["shape"])
    if dtype == "bool":
        return f"torch.rand({shape}) < 0.5"
    if "below" in description:
        return f"torch.randint(0, {max(1, int(description['below']))}, {shape})"
    if dtype == "int64":
        return f"torch.randint({int(description.get('low', -8))}, {int(description.get('high', 8)) + 1}, {shape})"
    if "low" not in description and "high" not in description and not description.get("nonzero"):
        return f"torch.randn({shape})"
    low = description.get("low", min(-2.0, description.get("high", 2.0) - 4))
    high = description.get("high", max(2.0, low + 4))
    text = f"torch.rand({shape}) * {high - low!r} + {low!r}"
    return f"(lambda t: torch.where(t.abs() < 0.1, 0.5, t))({text})" if description.get("nonzero") else text


def reference(record):
    """The program as a KernelBench file."""
    names = re.search(r"def program\((.*?)\):", record["program"], re.S)[1]
    inputs = ",\n        ".join(map(value, record["inputs"]))
    return (f"import torch.nn as nn\n{record['program']}\n\nclass Model(nn.Module):\n    def forward(self, {names}):\n"
            f"        return program({names})\n\n\ndef get_inputs():\n    return [\n        {inputs}\n    ]\n\n\n"
            "def get_init_inputs():\n    return []\n")


def teach(programs, strict, args):
    lines = "".join(json.dumps({"text": record["program"], "strict": strict, "count": 16, "seed": args.seed + i}) + "\n"
                    for i, record in enumerate(programs))
    done = subprocess.run([TEACH, "-"], input=lines, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"teach_file failed: {done.stderr[-2000:]}")
    return [json.loads(line)["answers"] for line in done.stdout.splitlines()]


def verify(batch, strict, work, args):
    """Verdicts by id."""
    file, out = work / "batch.jsonl", work / "verdicts.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in batch))
    out.unlink(missing_ok=True)
    command = [BINARY, "verify", "--batch", file, "--out", out, "--seed", str(args.seed), "--budget", str(args.budget), "--device", getattr(args, "device", "cpu")]
    command += ["--strict"] if strict else []
    done = subprocess.run(command, env=os.environ | {"TRITOGEN_PYTHON": str(PYTHON), "TRITOGEN_ROOT": str(ROOT)}, stderr=subprocess.PIPE, text=True)
    if not out.exists():
        sys.exit(done.stderr)
    return {v["id"]: v for v in map(json.loads, out.read_text().splitlines())}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--level", type=int, default=1)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--per-op", type=int, default=2)
    parser.add_argument("--ops", default="", help="only these rows")
    parser.add_argument("--answers", type=int, default=2, help="answers of one program that are verified")
    parser.add_argument("--by-hand", action="store_true", help="the rows that synth does not draw instead")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget", type=int, default=30)
    parser.add_argument("--max-elements", type=int, default=8192)
    parser.add_argument("--max-flops", type=int, default=2_000_000)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--static", action="store_true", help="count answers, verify nothing")
    parser.add_argument("--table", type=pathlib.Path, help="write the table there, as Markdown")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    kept = args.work / f"programs_{args.level}_{args.seed}_{args.per_op}_{args.count}_{args.ops[:60]}.json"
    if not kept.exists():  # drawing some rows takes longer than judging them
        kept.write_text(json.dumps(draw(args)))
    programs, missing = json.loads(kept.read_text())
    if args.by_hand:
        programs, missing = by_hand(), {}
    answers = teach(programs, True, args)
    chance = random.Random(args.seed)
    batch, strategies = [], {}
    table = collections.defaultdict(collections.Counter)
    silent = []
    for i, (record, own) in enumerate(zip(programs, answers)):
        kept = own[:1] + chance.sample(own[1:], min(args.answers - 1, len(own) - 1)) if own else []
        for op in set(record["ops"]) if not kept else ():
            table[op]["no answer"] += 1
        if not kept:
            silent.append(i)
        for j, answer in enumerate(kept):
            batch.append({"id": f"{i}.{j}", "reference": reference(record), "candidate": answer["source"]})
            strategies[f"{i}.{j}"] = answer["strategy"]
    (args.work / "silent.txt").write_text("\n".join(programs[i]["program"] for i in silent))
    verdicts = {} if args.static else verify(batch, True, args.work, args)
    outcomes, by_strategy, failures = collections.Counter(), collections.defaultdict(collections.Counter), []
    for line in batch:
        verdict = verdicts.get(line["id"], {"verdict": "answered", "reason": ""})
        name = verdict["verdict"]
        outcomes[name] += 1
        by_strategy[strategies[line["id"]]]["passed" if name == "passed" else "other"] += 1
        for op in set(programs[int(line["id"].split(".")[0])]["ops"]):
            table[op][name] += 1
        if name not in ("passed", "answered"):
            failures.append((line["id"], name, strategies[line["id"]], programs[int(line["id"].split(".")[0])]["ops"], verdict["reason"][:300]))
    columns = ["passed", *sorted({v for c in table.values() for v in c} - {"passed", "no answer"}), "no answer"]
    text = f"| operator | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}\n"
    for op in sorted(table):
        text += f"| {op} | {' | '.join(str(table[op][c] or '') for c in columns)} |\n"
    if args.table:
        args.table.write_text(text)
    for op in sorted(table):
        if set(table[op]) - {"passed", "answered"}:
            print(f"{op:40}", dict(table[op]))
    for failure in failures:
        print(*failure)
    total = sum(outcomes.values())
    print(f"programs {len(programs)}, with a strict answer {len(programs) - len(silent)}, answers judged {total}: {dict(outcomes)}")
    print("strategies:", {k: f"{v['passed']}/{sum(v.values())}" for k, v in sorted(by_strategy.items())})
    print("rows synth does not draw:", ", ".join(missing) or "none")
    without = sorted(op for op in table if not set(table[op]) - {"no answer"})
    print(f"rows without a strict answer ({len(without)}):", ", ".join(without))


if __name__ == "__main__":
    main()
