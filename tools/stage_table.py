"""Where the time of a batch goes: a Markdown table of the verdicts' `stages`, and with --out a plot as SVG.

    python tools/stage_table.py cold.jsonl warm.jsonl [--names "empty cache" "full cache"] --out stages.svg

A row is a stage, a column a file of verdicts; milliseconds a candidate on the judge that had it, and the share of all.
"""

import argparse
import collections
import html
import json
import pathlib
import sys

ORDER = ["record", "prepare", "lower", "tile machine", "compile", "replay", "timing", "wait"]  # then any other
COLORS = ["#4269d0", "#efb118", "#97bbf5", "#3ca951", "#ff725c", "#a463f2", "#6cc5b0", "#bdbdbd", "#9c6b4e", "#ff8ab7"]
WIDTH, LEFT, BAR, GAP, LEGEND_COLUMN = 900, 150, 34, 22, 185


def mean_stages(path: str) -> dict[str, float]:
    """Milliseconds a candidate by stage."""
    totals: dict[str, float] = collections.defaultdict(float)
    count = 0
    for line in pathlib.Path(path).read_text().splitlines():
        stages = json.loads(line).get("stages") or {}
        count += bool(stages)
        for stage, seconds in stages.items():
            totals[stage] += 1e3 * seconds
    if count == 0:
        sys.exit(f"{path}: no verdict has stages")
    return {stage: total / count for stage, total in totals.items()}


def in_order(columns: list[dict[str, float]]) -> list[str]:
    present = set().union(*columns)
    return [stage for stage in ORDER if stage in present] + sorted(present - set(ORDER))


def table(names: list[str], columns: list[dict[str, float]]) -> str:
    sums = [sum(column.values()) for column in columns]
    rows = [["stage"] + [f"{name}, ms" for name in names], ["---"] + ["---:"] * len(names)]
    for stage in in_order(columns):
        cells = [f"{column.get(stage, 0):.2f} ({100 * column.get(stage, 0) / total:.0f}%)"
                 for column, total in zip(columns, sums)]
        rows.append([stage] + cells)
    rows.append(["all"] + [f"{total:.2f}" for total in sums])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def text(x: float, y: float, words: str, **attributes: str) -> str:
    extra = "".join(f' {key.replace("_", "-")}="{value}"' for key, value in attributes.items())
    return f'<text x="{x:.1f}" y="{y:.1f}"{extra}>{html.escape(words)}</text>'


def plot(names: list[str], columns: list[dict[str, float]]) -> str:
    stages = in_order(columns)
    colors = {stage: COLORS[i % len(COLORS)] for i, stage in enumerate(stages)}
    longest = max(sum(column.values()) for column in columns)
    scale = (WIDTH - LEFT - 90) / longest
    parts, y = [text(0, 16, "Milliseconds a candidate, by stage", font_weight="bold")], 36
    for name, column in zip(names, columns):
        parts.append(text(LEFT - 10, y + BAR / 2 + 5, name, text_anchor="end"))
        x = float(LEFT)
        for stage in stages:
            width = scale * column.get(stage, 0)
            tip = html.escape(f"{stage}: {column.get(stage, 0):.2f} ms")
            parts.append(f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{BAR}" fill="{colors[stage]}">'
                         f"<title>{tip}</title></rect>")
            if width > 34:
                parts.append(text(x + width / 2, y + BAR / 2 + 5, f"{column[stage]:.1f}", text_anchor="middle"))
            x += width
        parts.append(text(x + 8, y + BAR / 2 + 5, f"{sum(column.values()):.1f} ms"))
        y += BAR + GAP
    per_row = (WIDTH - LEFT) // LEGEND_COLUMN
    for i, stage in enumerate(stages):
        x, row = LEFT + i % per_row * LEGEND_COLUMN, y + i // per_row * 22
        parts.append(f'<rect x="{x}" y="{row}" width="13" height="13" fill="{colors[stage]}"/>')
        parts.append(text(x + 19, row + 12, stage))
    height = y + ((len(stages) - 1) // per_row + 1) * 22
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
            f'font-family="system-ui, sans-serif" font-size="14">\n<rect width="100%" height="100%" fill="white"/>\n'
            + "\n".join(parts) + "\n</svg>\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("verdicts", nargs="+")
    parser.add_argument("--names", nargs="+", help="of the files, in their order (default: their stems)")
    parser.add_argument("--out", help="an SVG file")
    arguments = parser.parse_args()
    names = arguments.names or [pathlib.Path(path).stem for path in arguments.verdicts]
    if len(names) != len(arguments.verdicts):
        parser.error("--names takes one name a file")
    columns = [mean_stages(path) for path in arguments.verdicts]
    print(table(names, columns))
    if arguments.out:
        pathlib.Path(arguments.out).write_text(plot(names, columns))
    return 0


if __name__ == "__main__":
    sys.exit(main())
