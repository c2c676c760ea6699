"""Teacher on the development tasks: how many references become Programs, how many get an answer in strict and in hybrid
form, and, with sizes made small, what the verdicts are.

    python bench/teacher_dev.py --work /tmp/dev FOLDER/level1/*.py FOLDER/level2/*.py

Answers are counted for the tasks' own sizes, from the recorded program's text. For verdicts every number in a file's
module-level sizes is made small: batches 2, what is above 16 becomes 16 (+ its remainder), so that equal stays equal.
Tasks that do not run so are named and left out.
"""
import argparse
import collections
import concurrent.futures
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


def program(path):
    """Text of the recorded program, or why there is none."""
    done = subprocess.run([BINARY, "program", path], env=ENVIRONMENT, capture_output=True, text=True)
    return (done.stdout, "") if done.returncode == 0 else ("", done.stderr.strip()[-200:])


def teach(text, source, strict, count):
    line = json.dumps({"text": text, "strict": strict, "count": count, "seed": 1, "reference_source": source,
                       "entry": "Model", "is_function": False})
    done = subprocess.run([TEACH, "-"], input=line + "\n", capture_output=True, text=True)
    return json.loads(done.stdout)["answers"] if done.returncode == 0 else done.stderr[-200:]


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
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        texts = list(pool.map(program, args.files))
    for path, (text, problem) in zip(args.files, texts):
        level, source = path.parent.name, path.read_text()
        counts[level]["tasks"] += 1
        counts[level]["programs"] += bool(text)
        if not text:
            print(path.stem, "no program:", problem)
            continue
        for form in ("strict", "hybrid"):
            answers = teach(text, source, form == "strict", 4)
            counts[level][form] += isinstance(answers, list) and bool(answers)
            if not answers or isinstance(answers, str):
                print(path.stem, f"no {form} answer", answers or "")
    for level, numbers in counts.items():
        print(level, dict(numbers))
    if args.static:
        return
    batch = []
    for path in args.files:
        source = small(path.read_text())
        copy = args.work / f"{path.parent.name}_{path.name}"
        copy.write_text(source)
        text, problem = program(copy)
        answers = teach(text, source, True, args.answers) if text else problem
        if not answers or isinstance(answers, str):
            print(path.stem, "left out in small:", (answers or "no strict answer").replace("\n", " ")[-160:])
            continue
        for i, answer in enumerate(answers):
            batch.append({"id": f"{path.parent.name}/{path.stem}.{i}", "reference": source, "candidate": answer["source"]})
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
