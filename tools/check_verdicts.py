"""Compares the verdicts of a batch with what its lines expect; prints rate and every disagreement; exit code 1 if any."""

import argparse
import collections
import json
import sys


def read(path: str) -> dict[str, dict]:
    with open(path) as lines:
        return {line["id"]: line for line in map(json.loads, lines)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("batch")
    parser.add_argument("verdicts")
    parser.add_argument("--seconds", type=float, help="wall clock of the whole command")
    arguments = parser.parse_args()
    batch, verdicts = read(arguments.batch), read(arguments.verdicts)
    wrong = 0
    for name, line in batch.items():
        verdict = verdicts.get(name, {"verdict": "missing", "reason": ""})
        if verdict["verdict"] not in line["expect"]:
            wrong += 1
            print(f"{name}: {verdict['verdict']} instead of {' or '.join(line['expect'])}: {verdict['reason']}")
    counts = collections.Counter(verdict["verdict"] for verdict in verdicts.values())
    print(f"{len(batch)} candidates, {wrong} wrong verdicts; " + ", ".join(f"{n} {k}" for k, n in counts.most_common()))
    if arguments.seconds:
        print(f"{arguments.seconds:.1f} s, start-up included: {len(batch) / arguments.seconds:.1f} candidates/s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
