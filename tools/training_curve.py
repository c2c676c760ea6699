#!/usr/bin/env python3
"""Draws the loss of a run of `./tritogen sft`, or of several that went on from one another, from their log.jsonl as one SVG: over tokens, the
mean of the steps of each of at most 300 stretches, held-out losses as dots, and where a run begins.

    tools/training_curve.py runs/embedded_start/log.jsonl runs/embedded/log.jsonl --out curve.svg
"""
import argparse
import html
import json
import math
import pathlib
import sys

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 900, 380, 60, 20, 30, 50  # px
STRETCHES = 300
STYLE = ("text{font:12px sans-serif;fill:#444}.grid{stroke:#e4e4e8}.loss{fill:none;stroke:#3b6fc4;stroke-width:1.5}.held{fill:#c2452d}"
         ".run{stroke:#999;stroke-dasharray:3 3}")  # fmt: skip


def fail(text):
    sys.exit(f"tools/training_curve.py: {text}")


def read(path):
    """(tokens, loss) of a run's steps and (tokens, held-out loss) of its tests, without losses that are no number (null); a step that was done
    again, after a kill, counts once."""
    steps, held = {}, {}
    try:
        lines = path.read_text().splitlines()
    except OSError as error:
        fail(f"{path} cannot be read: {error.strerror}")
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
            if row.get("loss") is not None:
                steps[int(row["step"])] = (int(row["tokens"]), float(row["loss"]))
            elif row.get("held_out_loss") is not None:
                held[int(row["step"])] = float(row["held_out_loss"])
        except (AttributeError, ValueError, TypeError, KeyError) as error:
            fail(f"{path}:{number} is no line of sft's log: {error!r}")
    if not steps:
        fail(f"{path} has no step with a loss")
    return [steps[step] for step in sorted(steps)], [(steps[step][0], held[step]) for step in sorted(held) if step in steps]


def stretches(points):
    """At most STRETCHES points: of equally many steps each, their last tokens and the mean of their losses."""
    size = -(-len(points) // STRETCHES)
    parts = [points[i : i + size] for i in range(0, len(points), size)]
    return [(part[-1][0], sum(loss for _, loss in part) / len(part)) for part in parts]


def ticks(low, high):
    """Of a logarithmic axis: 1, 2 and 5 times powers of ten between the two; halves and wholes where these are fewer than three."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for multiples in ((1, 2, 5), [half / 2 for half in range(2, 20)]):
        found = [tick for power in powers for tick in (m * 10.0**power for m in multiples) if low <= tick <= high]
        if len(found) >= 3:
            break
    return found


def even_ticks(high):
    """Of an axis from 0: at most seven, so many 1, 2 or 5 times a power of ten apart."""
    power = 10.0 ** math.floor(math.log10(high))
    step = next(m * power for m in (0.1, 0.2, 0.5, 1, 2) if high / (m * power) < 7)
    return [step * i for i in range(int(high / step) + 1)]


def draw(runs):
    """runs: (name, steps, tests). Tokens of a run are counted behind those of the runs before it."""
    curves, dots, starts, before = [], [], [], 0
    for name, steps, held in runs:
        starts.append((before, name))
        curves.append([(before + tokens, loss) for tokens, loss in stretches(steps)])
        dots += [(before + tokens, loss) for tokens, loss in held]
        before += steps[-1][0]
    losses = [loss for curve in curves for _, loss in curve] + [loss for _, loss in dots]
    low, high = max(min(losses), 1e-9) * 0.9, max(losses) * 1.1

    def x(tokens):
        return LEFT + (WIDTH - LEFT - RIGHT) * tokens / before

    def y(loss):
        share = math.log(max(loss, low) / low) / math.log(high / low)
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - share)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="loss over tokens"><style>{STYLE}</style>']
    for tick in ticks(low, high):
        out.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>'
                   f'<text x="{LEFT - 6}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>')  # fmt: skip
    for tick in even_ticks(before / 1e6):
        out.append(f'<text x="{x(tick * 1e6):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{tick:g}</text>')
    for start, name in starts:
        out.append(f'<line class="run" x1="{x(start):.1f}" x2="{x(start):.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>'
                   f'<text x="{x(start) + 4:.1f}" y="{TOP - 8}">{html.escape(name)}</text>')  # fmt: skip
    for curve in curves:
        out.append(f'<polyline class="loss" points="{" ".join(f"{x(tokens):.1f},{y(loss):.1f}" for tokens, loss in curve)}"/>')
    out += [f'<circle class="held" r="4" cx="{x(tokens):.1f}" cy="{y(loss):.1f}"/>' for tokens, loss in dots]
    out.append(f'<text x="{LEFT}" y="{HEIGHT - 10}">million tokens; line: training loss a token, dots: held-out loss</text></svg>\n')
    return "\n".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", nargs="+", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    o = parser.parse_args()
    drawn = draw([(log.resolve().parent.name, *read(log)) for log in o.logs])
    partial = o.out.with_suffix(".tmp")
    partial.write_text(drawn)
    partial.replace(o.out)


if __name__ == "__main__":
    main()
