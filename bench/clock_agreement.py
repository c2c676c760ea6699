"""Our clock beside triton.testing.do_bench and plain CUDA events, on the same candidate files; needs a GPU.

    bench/clock_agreement.py OUT [--count 20]

Writes OUT/clock_agreement.json and .md. Each candidate is timed by `tritogen verify` and, in this process, loaded as plain
Python. What explains the difference between do_bench and our clock is measured, one cause after the other:

    do_bench − ours  =  launch  +  dirty lines  +  rest
    launch       do_bench of the call − do_bench of a CUDA graph of it: the host's part between do_bench's two events
    dirty lines  do_bench of the graph − the graph after a flush that ends with reads: do_bench's flush leaves the L2 full of
                 its own written lines, and the program pays for writing them back
    rest         the graph after such a flush, timed here by torch − our clock's median of its graph
"""

import argparse
import importlib.util
import json
import pathlib
import statistics
import sys
import tempfile
import time

from clock_cases import all_kinds
from timed_batch import run_batch

SAMPLES = 100


def load(source: str, name: str, folder: pathlib.Path):
    path = folder / f"{name}.py"  # Triton reads a kernel's text from its file
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(name.replace("-", "_"), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Clocks:
    """Other clocks than ours; all times are medians in microseconds."""

    def __init__(self) -> None:
        import torch
        import triton.testing

        self.torch, self.triton = torch, triton
        l2 = torch.cuda.get_device_properties(0).L2_cache_size
        self.dirty = torch.empty(256 << 20, dtype=torch.int8, device="cuda")  # as do_bench's
        self.clean = torch.empty(2 * l2 // 4, dtype=torch.int32, device="cuda")

    def do_bench(self, call) -> float:
        return 1e3 * self.triton.testing.do_bench(call, return_mode="median")

    def events(self, call, before) -> float:
        pairs = [[self.torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(SAMPLES)]
        for start, end in pairs:
            before()
            start.record()
            call()
            end.record()
        self.torch.cuda.synchronize()
        return 1e3 * statistics.median(start.elapsed_time(end) for start, end in pairs)

    def flush_written(self) -> None:
        self.dirty.zero_()

    def flush_read(self) -> None:
        self.clean.zero_()
        self.clean.max()

    def host(self, call) -> float:
        """What a call costs the host, with a GPU that is not waited for."""
        self.torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(SAMPLES):
            call()
        spent = time.perf_counter() - start
        self.torch.cuda.synchronize()
        return 1e6 * spent / SAMPLES

    def graph(self, call):
        graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(graph):
            call()
        return graph.replay

    def measure(self, line: dict, folder: pathlib.Path) -> dict:
        torch = self.torch
        model = load(line["candidate"], line["id"], folder).ModelNew().cuda()
        inputs = [x.cuda() for x in load(line["reference"], "reference_" + line["id"], folder).get_inputs()]
        with torch.no_grad():
            call = lambda: model(*inputs)  # noqa: E731
            for _ in range(5):
                call()
            torch.cuda.synchronize()
            replay = self.graph(call)
            return dict(do_bench=self.do_bench(call), do_bench_graph=self.do_bench(replay),
                        events_warm=self.events(call, lambda: None), events_cold=self.events(call, self.flush_written),
                        graph_warm=self.events(replay, lambda: None), graph_clean=self.events(replay, self.flush_read),
                        host=self.host(call))


def explained(row: dict) -> dict:
    """Adds the three causes, which sum up to the difference, and names the largest."""
    causes = {"launch": row["do_bench"] - row["do_bench_graph"], "dirty lines": row["do_bench_graph"] - row["graph_clean"],
              "rest": row["graph_clean"] - row["ours_graph"]}
    largest = max(causes, key=lambda cause: abs(causes[cause]))
    return row | dict(difference=row["do_bench"] - row["ours_graph"], causes=causes, largest=largest)


def markdown(rows: list[dict], empty: dict) -> str:
    head = ["program", "ours, graph", "ours, replay", "do_bench", "events, cold", "events, warm", "do_bench − ours", "launch",
            "dirty lines", "rest", "host, a call"]
    text = ["Medians in µs. Causes: see the head of bench/clock_agreement.py.", "", "| " + " | ".join(head) + " |",
            "|---|" + "---:|" * (len(head) - 1)]
    for r in rows:
        cells = [r["ours_graph"], r["ours_replay"], r["do_bench"], r["events_cold"], r["events_warm"]]
        causes = [r["causes"]["launch"], r["causes"]["dirty lines"], r["causes"]["rest"], r["host"]]
        share = f"{r['difference']:+.1f} ({r['difference'] / r['ours_graph']:+.0%})"
        text.append(f"| {r['id']} | " + " | ".join([f"{c:.1f}" for c in cells] + [share] + [f"{c:.1f}" for c in causes]) + " |")
    rest = sorted(abs(r["causes"]["rest"]) / r["ours_graph"] for r in rows)
    largest = [f"{sum(r['largest'] == cause for r in rows)} {cause}" for cause in ("launch", "dirty lines", "rest")]
    text += ["", f"Nothing at all takes {empty['do_bench']:.1f} by do_bench, and {empty['events_cold']:.1f} between two events behind a "
             f"flush. Once launch and dirty lines are taken out, the clocks differ by {statistics.median(rest):.1%} in the median "
             f"and {rest[-1]:.1%} at most, over {len(rows)} programs. Largest cause: {', '.join(largest)}."]
    return "\n".join(text) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--count", type=int, default=20)
    arguments = parser.parse_args()
    out = pathlib.Path(arguments.out)
    out.mkdir(parents=True, exist_ok=True)
    quarter = arguments.count // 4
    lines = all_kinds(small=quarter, medium=quarter, large=quarter, chains=arguments.count - 3 * quarter, seed=3)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        batch, verdicts = folder / "batch.jsonl", folder / "verdicts.jsonl"
        batch.write_text("".join(json.dumps(line) + "\n" for line in lines))
        options = ["--device", "cuda", "--no-cache", "--samples", "100", "--timing-seconds", "0.4"]
        run_batch(str(batch), str(verdicts), options, cores=2)
        ours = {v["id"]: v for v in map(json.loads, verdicts.read_text().splitlines())}
        clocks, rows, problems = Clocks(), [], []
        for line in lines:
            times = (ours[line["id"]].get("timing") or {}).get("candidate") or {}
            if not times.get("graph_median_us"):
                problems.append(f"{line['id']}: {ours[line['id']]['verdict']}: {ours[line['id']]['reason']}")
                continue
            row = dict(id=line["id"], ours_graph=times["graph_median_us"], ours_replay=times["replay_median_us"])
            rows.append(explained(row | clocks.measure(line, folder)))
    empty = dict(do_bench=clocks.do_bench(lambda: None), events_cold=clocks.events(lambda: None, clocks.flush_written))
    rows.sort(key=lambda row: row["ours_graph"])
    (out / "clock_agreement.json").write_text(json.dumps(dict(rows=rows, empty=empty, problems=problems), indent=1) + "\n")
    (out / "clock_agreement.md").write_text(markdown(rows, empty) + "\n".join(problems))
    print(markdown(rows, empty), *problems, sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
