"""Teacher on the development tasks: how many references become Programs, how many get an answer in strict and in hybrid
form, and, with sizes made small, what the verdicts are.

    python bench/teacher_dev.py --work /tmp/dev FOLDER/level1/*.py FOLDER/level2/*.py

Answers are counted for the tasks' own sizes, from the recorded program's text. For verdicts every number in a file's
module-level sizes is made small: batches 2, what is above 16 becomes 16 (+ its remainder), so that equal stays equal.
Tasks that do not run so are named and left out.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(__file__))
from teacher_yield import BINARY, PYTHON, ROOT, TEACH, verify

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
        if done.returncode == 0:
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--static", action="store_true")
    parser.add_argument("--answers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget", type=int, default=60)
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    counts = collections.defaultdict(collections.Counter)
    texts = programs(args.files)
    recorded = [path for path in args.files if texts[path]]
    for path in args.files:
        counts[path.parent.name]["tasks"] += 1
        counts[path.parent.name]["programs"] += bool(texts[path])
    for form in ("strict", "hybrid"):
        for path, answers in zip(recorded, teach([(texts[p], p.read_text()) for p in recorded], form == "strict", 4)):
            counts[path.parent.name][form] += bool(answers)
            if not answers:
                print(path.stem, f"no {form} answer", flush=True)
    for level, numbers in counts.items():
        print(level, dict(numbers), flush=True)
    if args.static:
        return
    copies = {}
    for path in args.files:
        copies[path] = args.work.resolve() / f"{path.parent.name}_{path.name}"
        copies[path].write_text(small(path.read_text()))
    texts = programs(copies.values())
    recorded = [path for path in args.files if texts[copies[path]]]
    batch = []
    for path, answers in zip(recorded, teach([(texts[copies[p]], copies[p].read_text()) for p in recorded], True, args.answers)):
        if not answers:
            print(path.stem, "no strict answer in small", flush=True)
        for i, answer in enumerate(answers):
            batch.append({"id": f"{path.parent.name}/{path.stem}.{i}", "reference": copies[path].read_text(), "candidate": answer["source"]})
    verdicts = verify(batch, True, args.work, args)
    outcomes = collections.defaultdict(collections.Counter)
    for line in batch:
        verdict = verdicts.get(line["id"], {"verdict": "none", "reason": "not judged"})
        outcomes[line["id"].split("/")[0]][verdict["verdict"]] += 1
        if verdict["verdict"] != "passed":
            print(line["id"], verdict["verdict"], verdict["reason"][:240])
    for level, numbers in outcomes.items():
        print(level, "small, strict:", dict(numbers), "of", len({l["id"].rsplit(".", 1)[0] for l in batch if l["id"].startswith(level)}), "tasks")


if __name__ == "__main__":
    main()
