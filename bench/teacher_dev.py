"""Teacher on the development tasks: how many references become Programs, how many get an answer in strict and in hybrid
form, and what the verdicts are.

    python bench/teacher_dev.py --work /tmp/dev FOLDER/level1/*.py FOLDER/level2/*.py                       # small sizes, CPU
    python bench/teacher_dev.py --work /tmp/dev --full --device cuda --table dev.md FOLDER/level1/*.py ...  # as they are, GPU

Answers are counted for the tasks' own sizes, from the recorded program's text. For verdicts every number in a file's
module-level sizes is made small, unless --full: batches 2, what is above 16 becomes 16 (+ its remainder), so that equal stays
equal. Tasks that do not run so are named and left out. An answer that takes longer than --budget is "needs a GPU" in the
table. Verdicts are kept in --work piece by piece; a run that was stopped goes on there.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(__file__))
from teacher_yield import BINARY, PYTHON, ROOT, TEACH, verify

FORMS = ("strict", "hybrid")
PIECE = 50  # answers judged in one go
ENVIRONMENT = os.environ | {"TRITOGEN_PYTHON": str(PYTHON), "TRITOGEN_ROOT": str(ROOT)}


def small(source):
    """The file with small sizes; what stands inside functions and classes stays."""
    def shrunk(name, text):
        value = int(text.replace("_", ""))
        if "batch" in name:
            return str(min(value, 2))
        return text if value <= 16 else str(16 + value % 16)

    def line(match):
        return match[1] + re.sub(r"(?<![\w.])\d[\d_]*(?![\w.])", lambda m: shrunk(match[1], m[0]), match[2])

    return re.sub(r"^([A-Za-z_]\w*\s*=)(.*)$", line, source, flags=re.M)


def programs(paths):
    """Texts of the recorded programs by path, all from one process; what stops it is recorded alone, or has none."""
    texts, left = {}, list(paths)
    while left:
        done = subprocess.run([BINARY, "program", *left, left[-1]], env=ENVIRONMENT, capture_output=True, text=True)
        for part in done.stdout.split("# /")[1:]:
            path, text = ("/" + part).split("\n", 1)
            texts[pathlib.Path(path)] = text
        if all(path in texts for path in left):  # also where some operation is not in the catalogue
            break
        bad = next(path for path in left if path not in texts)
        texts[bad] = ""
        print(bad.stem, "no program:", done.stderr.strip()[-200:], flush=True)
        left = [path for path in left if path not in texts]
    return texts


def teach(tasks, strict, count):
    """Answers of (text, source) pairs."""
    lines = "".join(json.dumps({"text": text, "strict": strict, "count": count, "seed": 1, "reference_source": source,
                                "entry": "Model", "is_function": False}) + "\n" for text, source in tasks)
    done = subprocess.run([TEACH, "-"], input=lines, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return [json.loads(line)["answers"] for line in done.stdout.splitlines()]


def judge(batch, form, args):
    """Verdicts by id, in pieces that are kept."""
    verdicts = {}
    for start in range(0, len(batch), PIECE):
        out = args.work / f"verdicts_{form}_{'full' if args.full else 'small'}_{args.seed}_{start}.json"
        if not out.exists():
            begun = time.monotonic()
            out.write_text(json.dumps(verify(batch[start:start + PIECE], form == "strict", args.work, args)))
            print(f"{form}: {min(start + PIECE, len(batch))} of {len(batch)} judged, {time.monotonic() - begun:.0f} s", flush=True)
        verdicts |= json.loads(out.read_text())
    return verdicts


def word(verdict):
    """A verdict's word in the table."""
    if verdict is None:
        return "not judged"
    late = verdict["verdict"] == "timeout" or (verdict["verdict"] in ("infra_error", "killed") and "time" in verdict["reason"])
    return "needs a GPU" if late else verdict["verdict"]


def named(path):
    return f"{path.parent.name}/{path.stem}"


def copies(args):
    """The files that verdicts are for, by path."""
    if args.full:
        return {path: path for path in args.files}
    made = {}
    for path in args.files:
        made[path] = args.work.resolve() / f"{path.parent.name}_{path.name}"
        made[path].write_text(small(path.read_text()))
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--static", action="store_true", help="count answers, verify nothing")
    parser.add_argument("--full", action="store_true", help="verdicts for the tasks' own sizes")
    parser.add_argument("--device", default="cpu", help="where answers are judged: cpu, cuda")
    parser.add_argument("--answers", type=int, default=1, help="answers of one task and form that are judged")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget", type=int, default=60, help="seconds for one answer")
    parser.add_argument("--table", type=pathlib.Path, help="write one line a task there, as Markdown")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    texts = programs(args.files)
    counts = collections.defaultdict(collections.Counter)
    rows = {path: {"program": "yes" if texts[path] else "no"} for path in args.files}
    recorded = [path for path in args.files if texts[path]]
    for form in FORMS:
        for path, answers in zip(recorded, teach([(texts[p], p.read_text()) for p in recorded], form == "strict", 4)):
            rows[path][form] = len(answers)
            counts[path.parent.name][form] += bool(answers)
            if not answers:
                print(path.stem, f"no {form} answer", flush=True)
    for path in args.files:
        counts[path.parent.name]["tasks"] += 1
        counts[path.parent.name]["programs"] += bool(texts[path])
    for level, numbers in counts.items():
        print(level, dict(numbers), flush=True)
    if args.static:
        return
    files = copies(args)
    if not args.full:
        texts = dict(zip(args.files, map(programs(files.values()).get, files.values())))
        recorded = [path for path in args.files if texts[path]]
    outcomes = collections.defaultdict(collections.Counter)
    strict_sources = {}
    for form in FORMS:
        batch = []
        for path, answers in zip(recorded, teach([(texts[p], files[p].read_text()) for p in recorded], form == "strict", args.answers)):
            if form == "strict":
                strict_sources[path] = [answer["source"] for answer in answers]
            for i, answer in enumerate(answers):
                if form == "strict" or answer["source"] not in strict_sources[path]:  # else judged already
                    batch.append({"id": f"{named(path)}.{i}", "reference": files[path].read_text(), "candidate": answer["source"]})
        verdicts = judge(batch, form, args)
        for line in batch:
            verdict = verdicts.get(line["id"])
            if verdict is None or verdict["verdict"] != "passed":
                print(line["id"], form, word(verdict), verdict["reason"][:200] if verdict else "")
        for path in args.files:
            own = [word(verdicts.get(line["id"])) for line in batch if line["id"].rsplit(".", 1)[0] == named(path)]
            same = form == "hybrid" and strict_sources.get(path) and not own
            rows[path][form + " verdict"] = rows[path]["strict verdict"] if same else " ".join(sorted(set(own))) or "none"
            outcomes[path.parent.name][form + ": " + rows[path][form + " verdict"]] += 1
    for level, numbers in outcomes.items():
        print(level, "full sizes" if args.full else "small sizes", dict(numbers))
    if args.table:
        columns = ["program", "strict", "strict verdict", "hybrid", "hybrid verdict"]
        args.table.write_text(f"| task | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}\n" + "".join(
            f"| {named(path)} | {' | '.join(str(row.get(c, 0)) for c in columns)} |\n" for path, row in rows.items()))


if __name__ == "__main__":
    main()
