"""Can the clock be trusted? A/A ratios, and pairs of candidates of which one does 5% more. Used by bench/clock_check.sh.

    bench/clock_check.py write FOLDER          aa.jsonl and pairs.jsonl, which need no GPU
    bench/clock_check.py judge FOLDER OUT      reads FOLDER/aa_verdicts.jsonl and FOLDER/pairs_verdicts.jsonl; writes
                                               OUT/clock_check.json and .md; exit code 1 when the clock fails
"""

import json
import pathlib
import re
import sys

from clock_cases import all_kinds, candidates, chain, chain_lengths, slowed

LONG_ENOUGH = 20.0  # µs: shorter programs are mostly launch, and an event ticks every half a microsecond
MOST_APART = 0.01
SEEN = 0.02  # of 5% more work


def pairs() -> list[dict]:
    """Memory-bound ones are larger than any L2, so that what is done twice is fetched twice."""
    lines = []
    for i, line in enumerate(line for n, line in enumerate(candidates(18, 2, (24_000_000, 40_000_000), right=True)) if n % 3 < 2):
        rows, columns = map(int, re.search(r"randn\((\d+), (\d+)\)", line["reference"]).groups())
        base, slow, work = slowed(line["candidate"], rows * columns, rows)
        for kind, text in (("base", base), ("slow", slow)):
            lines.append(dict(id=f"memory-{i:02}-{kind}", reference=line["reference"], candidate=text, expect=["passed"], work=work))
    for i, steps in enumerate(chain_lengths(10)):
        more = round(0.05 * steps)
        for kind, count in (("base", steps), ("slow", steps + more)):
            lines.append(dict(id=f"chain-{i:02}-{kind}", **chain(2048, count), expect=["passed"], work=more / steps))
    return lines


def write(folder: pathlib.Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in (("aa", all_kinds(small=6, medium=18, large=28, chains=18)), ("pairs", pairs())):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def read(path: pathlib.Path) -> dict[str, dict]:
    return {line["id"]: line for line in map(json.loads, path.read_text().splitlines())}


def times(verdict: dict) -> dict | None:
    return (verdict.get("timing") or {}).get("candidate")


def judge_aa(verdicts: dict[str, dict]) -> dict:
    rows, problems = [], []
    for name, verdict in verdicts.items():
        if verdict["verdict"] != "passed" or not times(verdict):
            problems.append(f"{name}: {verdict['verdict']}: {verdict['reason']}")
            continue
        candidate = times(verdict)
        rows.append(dict(id=name, median_us=candidate["median_us"], iqr_us=candidate["q3_us"] - candidate["q1_us"],
                         samples=len(candidate["samples_us"]), self_ratio=verdict["timing"]["self_ratio"],
                         method=verdict["timing"]["method"]))
    rows.sort(key=lambda row: row["median_us"])
    long = [row for row in rows if row["median_us"] >= LONG_ENOUGH]
    off = [row["id"] for row in long if abs(row["self_ratio"] - 1) > MOST_APART]
    return dict(rows=rows, problems=problems, long=len(long), off=off,
                worst=max((abs(row["self_ratio"] - 1) for row in long), default=None),
                worst_short=max((abs(row["self_ratio"] - 1) for row in rows if row not in long), default=None))


def judge_pairs(lines: dict[str, dict], verdicts: dict[str, dict]) -> dict:
    rows, problems = [], [f"{n}: {v['verdict']}: {v['reason']}" for n, v in verdicts.items() if not times(v)]
    for name, line in lines.items():
        base, slow = verdicts.get(name, {}), verdicts.get(name.replace("base", "slow"), {})
        if not name.endswith("base") or not times(base) or not times(slow):
            continue
        ratio = times(slow)["median_us"] / times(base)["median_us"]
        rows.append(dict(id=name.removesuffix("-base"), median_us=times(base)["median_us"], work=line["work"], ratio=ratio,
                         seen=ratio > 1 + SEEN))
    rows.sort(key=lambda row: row["median_us"])
    long = [row for row in rows if row["median_us"] >= LONG_ENOUGH]
    return dict(rows=rows, problems=problems, long=len(long), unseen=[row["id"] for row in long if not row["seen"]])


def markdown(aa: dict, paired: dict) -> str:
    text = [f"A/A: {aa['long']} programs of {LONG_ENOUGH:.0f} µs and more, {len(aa['off'])} off by more than {MOST_APART:.0%}, "
            f"worst {aa['worst'] or 0:.2%}; shorter ones: worst {aa['worst_short'] or 0:.2%}", "",
            "| program | median, µs | IQR, µs | samples | A/A |", "|---|---:|---:|---:|---:|"]
    text += [f"| {r['id']} | {r['median_us']:.2f} | {r['iqr_us']:.2f} | {r['samples']} | {r['self_ratio']:.4f} |" for r in aa["rows"]]
    text += ["", f"5% more work: {paired['long']} pairs of {LONG_ENOUGH:.0f} µs and more, {len(paired['unseen'])} not seen", "",
             "| pair | median, µs | more work | time ratio | seen |", "|---|---:|---:|---:|---|"]
    text += [f"| {r['id']} | {r['median_us']:.2f} | {r['work']:.2%} | {r['ratio']:.4f} | {'yes' if r['seen'] else 'no'} |"
             for r in paired["rows"]]
    return "\n".join(text + ["", *aa["problems"], *paired["problems"]]) + "\n"


def judge(folder: pathlib.Path, out: pathlib.Path) -> int:
    aa = judge_aa(read(folder / "aa_verdicts.jsonl"))
    paired = judge_pairs(read(folder / "pairs.jsonl"), read(folder / "pairs_verdicts.jsonl"))
    ok = not (aa["off"] or aa["problems"] or paired["unseen"] or paired["problems"]) and bool(aa["rows"] and paired["rows"])
    (out / "clock_check.json").write_text(json.dumps(dict(ok=ok, aa=aa, pairs=paired), indent=1) + "\n")
    (out / "clock_check.md").write_text(markdown(aa, paired))
    print(markdown(aa, paired))
    return 0 if ok else 1


def main() -> int:
    match sys.argv[1:]:
        case ["write", folder]:
            write(pathlib.Path(folder))
            return 0
        case ["judge", folder, out]:
            return judge(pathlib.Path(folder), pathlib.Path(out))
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main())
