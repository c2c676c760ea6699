"""Sizes by OR-Tools' CP-SAT, as DRTriton finds them, beside ours: the same graphs, the same constraints, one run, one core.

    python3 -m venv /tmp/ortools && /tmp/ortools/bin/pip install ortools
    /tmp/ortools/bin/python bench/ortools_synth.py --levels 5,20 --graphs 20

Graphs and their constraint systems come from `synth --explain`. CP-SAT is asked for any solution of each (model building
included, no text), which then has to meet every constraint, checked here in plain Python. CP-SAT says that there is none
exactly where our count is 0. With --small, sizes are 1..4 and CP-SAT enumerates all solutions: as many as we count, so both
have the same ones. Ours is timed with text and fingerprints: a graph for each program (the like of CP-SAT), and 16 a graph.
"""
import argparse
import math
import os
import pathlib
import random
import re
import subprocess
import time

from ortools.sat.python import cp_model

ROOT = pathlib.Path(__file__).resolve().parents[1]
BINARY = pathlib.Path(os.environ.get("TRITOGEN_BINARY", ROOT / "build/release/tritogen"))
LARGEST = 1 << 40  # no product of a system needs more before a bound cuts it


def term(text, values):
    return values[text] if text in values else int(text)


def product(text, values):
    return math.prod(term(part, values) for part in text.split("·"))


WINDOW = re.compile(r"(\S+) = ⌊\((\S+) \+ 2·(\S+) − (\S+)·\((\S+) − 1\) − 1\) / (\S+)⌋ \+ 1$")
TRANSPOSED = re.compile(r"(\S+) = \((\S+) − 1\)·(\S+) − 2·(\S+) \+ (\S+)·\((\S+) − 1\) \+ (\S+) \+ 1$")
BROADCAST = re.compile(r"(\S+) = broadcast\((\S+), (\S+)\)$")
BOUND = re.compile(r"(?:(\d+) ≤ )?(\S+)(?: ≤ (\d+))?$")
LINEAR = re.compile(r"(.+) \+ (-?\d+) (≤|=) 0$")


def holds(line, v):
    """The constraint's plain meaning."""
    if m := WINDOW.match(line):
        out, size, padding, dilation, kernel, stride = (term(x, v) for x in m.groups())
        room = size + 2 * padding - dilation * (kernel - 1) - 1
        return room >= 0 and out == room // stride + 1
    if m := TRANSPOSED.match(line):
        out, size, stride, padding, dilation, kernel, extra = (term(x, v) for x in m.groups())
        return extra < max(stride, dilation) and out >= 1 and out == (size - 1) * stride - 2 * padding + dilation * (kernel - 1) + extra + 1
    if m := BROADCAST.match(line):
        out, a, b = (term(x, v) for x in m.groups())
        return out == max(a, b) and (a == b or min(a, b) == 1)
    if " divides " in line:
        divisor, number = (term(x, v) for x in line.split(" divides "))
        return number % divisor == 0
    if m := LINEAR.match(line):
        total = int(m[2]) + sum(int(c) * v[n] for c, n in (t.split("·", 1) for t in m[1].split(" + ")))
        return total <= 0 if m[3] == "≤" else total == 0
    if " = " in line:
        left, right = line.split(" = ")
        return product(left, v) == product(right, v)
    m = BOUND.match(line)
    return int(m[1] or 0) <= product(m[2], v) <= int(m[3] or LARGEST)


class Graph:
    """What --explain says of one graph."""

    def __init__(self, text):
        self.variables, self.constraints, part = {}, [], ""
        for line in text.splitlines():
            if not line.startswith("  "):
                part = line.split(":")[0].strip() or part
            elif part == "Variables":
                name, domain = line.strip().split(" ∈ ")
                pieces = [[int(x) for x in p.split("..")] for p in domain.strip("{}").split(", ") if p]
                self.variables[name] = [(p[0], p[-1]) for p in pieces]
            elif part == "Constraints":
                self.constraints.append(line.strip())
        found = re.search(r"Solutions: (\d+) \(exact\)", text)
        self.count = int(found[1]) if found else None


class Model:
    def __init__(self, graph):
        self.model = cp_model.CpModel()
        self.empty = any(not ranges for ranges in graph.variables.values())
        self.vars = {n: self.model.new_int_var_from_domain(cp_model.Domain.from_intervals([list(r) for r in ranges] or [[1, 1]]), n)
                     for n, ranges in graph.variables.items()}
        self.highs = {self.vars[n].index: ranges[-1][1] if ranges else 1 for n, ranges in graph.variables.items()}
        for line in graph.constraints:
            self.add(line)

    def fresh(self, low, high):
        made = self.model.new_int_var(low, min(high, LARGEST), "")
        self.highs[made.index] = min(high, LARGEST)
        return made

    def high(self, expression):
        return expression if isinstance(expression, int) else self.highs[expression.index]

    def times(self, parts):
        result = parts[0]
        for part in parts[1:]:
            both = self.fresh(0, self.high(result) * self.high(part))
            self.model.add_multiplication_equality(both, [result, part])
            result = both
        return result

    def product(self, text):
        return self.times([term(part, self.vars) for part in text.split("·")])

    def add(self, line):
        model, t = self.model, lambda text: term(text, self.vars)
        if m := WINDOW.match(line):
            out, size, padding, dilation, kernel, stride = map(t, m.groups())
            less = self.fresh(0, self.high(kernel))
            model.add(less == kernel - 1)
            room = self.fresh(0, 1 << 20)
            model.add(room == size + 2 * padding - self.times([dilation, less]) - 1)
            steps = self.fresh(0, 1 << 20)
            model.add_division_equality(steps, room, stride)
            model.add(out == steps + 1)
        elif m := TRANSPOSED.match(line):
            out, size, stride, padding, dilation, kernel, extra = map(t, m.groups())
            less, before = self.fresh(0, self.high(kernel)), self.fresh(0, self.high(size))
            model.add(less == kernel - 1)
            model.add(before == size - 1)
            most = self.fresh(0, max(self.high(stride), self.high(dilation)))
            model.add_max_equality(most, [stride, dilation])
            model.add(extra < most)
            model.add(out == self.times([before, stride]) - 2 * padding + self.times([dilation, less]) + extra + 1)
            model.add(out >= 1)
        elif m := BROADCAST.match(line):
            out, a, b = map(t, m.groups())
            cases = [model.new_bool_var("") for _ in range(3)]
            for case, (x, y) in zip(cases, ((a, b), (a, 1), (b, 1))):
                model.add(x == y).only_enforce_if(case)
                model.add(x != y).only_enforce_if(case.negated())  # so that a solution is enumerated once
            model.add_bool_or(cases)
            model.add_max_equality(out, [a, b])
        elif " divides " in line:
            divisor, number = (t(x) for x in line.split(" divides "))
            model.add_modulo_equality(0, number, divisor)
        elif m := LINEAR.match(line):
            total = int(m[2]) + sum(int(c) * self.vars[n] for c, n in (x.split("·", 1) for x in m[1].split(" + ")))
            model.add(total <= 0) if m[3] == "≤" else model.add(total == 0)
        elif " = " in line:
            left, right = line.split(" = ")
            model.add(self.product(left) == self.product(right))
        else:
            m = BOUND.match(line)
            value = self.product(m[2])
            model.add(value >= int(m[1] or 0))
            if m[3]:
                model.add(value <= int(m[3]))


class Count(cp_model.CpSolverSolutionCallback):
    def __init__(self, variables, most):
        super().__init__()
        self.variables, self.most, self.seen = variables, most, set()

    def on_solution_callback(self):
        self.seen.add(tuple(self.value(v) for v in self.variables))
        if len(self.seen) > self.most:
            self.stop_search()


def explain(level, seed, extra):
    done = subprocess.run([BINARY, "synth", "--level", str(level), "--seed", str(seed), *extra, "--explain"], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return Graph(done.stdout)


def solver(seconds, seed):
    made = cp_model.CpSolver()
    made.parameters.num_workers = 1
    made.parameters.max_time_in_seconds = seconds
    made.parameters.random_seed = seed
    return made


def compare(level, args, extra):
    graphs = [explain(level, seed, extra) for seed in range(1, args.graphs + 1)]
    start, solved, undecided = time.process_time(), 0, 0
    for i, graph in enumerate(graphs):
        model, search = Model(graph), solver(args.seconds, i)
        status = search.solve(model.model) if not model.empty else cp_model.INFEASIBLE
        if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            solved += 1
            values = {n: search.value(v) for n, v in model.vars.items()}
            broken = [line for line in graph.constraints if not holds(line, values)]
            assert not broken, (level, i + 1, broken, values)
            assert graph.count != 0, (level, i + 1, "CP-SAT has a solution, we count none")
        elif status == cp_model.INFEASIBLE:
            assert not graph.count, (level, i + 1, "CP-SAT has no solution, we count", graph.count)
        else:
            undecided += 1
    seconds = time.process_time() - start
    print(f"level {level}: CP-SAT {solved / seconds:.1f} programs/s ({solved} of {len(graphs)} graphs solved, {undecided} undecided in {args.seconds} s)", flush=True)
    for per_graph in (1, 16):
        begun, count = os.times(), args.count
        subprocess.run([BINARY, "synth", "--level", str(level), "--seed", "1", *extra, "--count", str(count), "--per-graph", str(per_graph)],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        ended = os.times()
        spent = ended.children_user + ended.children_system - begun.children_user - begun.children_system
        print(f"level {level}: ours {count / spent:.0f} programs/s of CPU time, {per_graph} a graph", flush=True)


def small(args, extra):
    """All solutions of small systems, by both."""
    equal, skipped, level_of = 0, 0, random.Random(1)
    for seed in range(1, args.graphs + 1):
        graph = explain(level_of.choice((1, 2, 3)), seed, ["--sizes", "1..4", "--max-elements", "48", *extra])
        if graph.count is None or graph.count > 20000:
            skipped += 1
            continue
        model, search = Model(graph), solver(60, seed)
        search.parameters.enumerate_all_solutions = True
        counter = Count(list(model.vars.values()), 20000)
        if not model.empty:
            search.solve(model.model, counter)
        assert len(counter.seen) == graph.count, (seed, len(counter.seen), graph.count)
        equal += 1
    print(f"small systems: {equal} with as many solutions by CP-SAT as we count, {skipped} too large to enumerate", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--levels", default="5,20")
    parser.add_argument("--graphs", type=int, default=20)
    parser.add_argument("--count", type=int, default=400, help="programs of ours that are timed")
    parser.add_argument("--seconds", type=float, default=10, help="for one graph")
    parser.add_argument("--ops", default="all")
    parser.add_argument("--sizes", default="common")
    parser.add_argument("--small", action="store_true")
    args = parser.parse_args()
    if args.small:
        return small(args, ["--ops", args.ops])
    for level in map(int, args.levels.split(",")):
        compare(level, args, ["--ops", args.ops, "--sizes", args.sizes])


if __name__ == "__main__":
    main()
