"""Where the CPU time of a recording child goes, stage by stage, without the jail: a forked child for each program, as the zygote does.

    python bench/record_profile.py BATCH.jsonl [--count 40] [--functions]

BATCH.jsonl has the lines of `verify --batch` (id, reference, candidate); bench/teacher_yield.py leaves one in its work folder.
Candidates get the inputs that their references generate. Times are CPU ms (user and system) a program, means over the
programs; what is left of a child's own total is fork, page faults before its first line, and its end.
"""
import argparse
import collections
import cProfile
import io
import json
import os
import pathlib
import pstats
import resource
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "worker"))
import huge_pages  # noqa: E402,F401
import protocol  # noqa: E402
import record  # noqa: E402
import triton_driver  # noqa: E402
import triton.compiler.compiler as triton_compiler  # noqa: E402


def clock():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


class Stages:
    """Times calls of functions that are named here, nested ones apart from their callers."""

    def __init__(self):
        self.spent, self.stack = collections.Counter(), []

    def wrap(self, owner, name, stage):
        inner = getattr(owner, name)

        def outer(*args, **kwargs):
            self.stack.append(0.0)
            start = clock()
            try:
                return inner(*args, **kwargs)
            finally:
                total = clock() - start
                self.spent[stage] += total - self.stack.pop()
                if self.stack:
                    self.stack[-1] += total

        setattr(owner, name, outer)


def child(request, functions):
    """What the child would do; the stages' times and, if asked, a profile go to stdout's pipe."""
    stages = Stages()
    program = record._Program
    stages.wrap(program, "compile", "compile the text")
    stages.wrap(program, "_load", "run the top level")
    stages.wrap(program, "_generate", "inputs")
    stages.wrap(program, "_given", "inputs")
    stages.wrap(program, "_construct", "constructor")
    stages.wrap(program, "_call", "three calls")
    stages.wrap(triton_driver, "_compile", "TTIR: passes, printing")
    stages.wrap(triton_compiler.ASTSource, "make_ir", "TTIR: Python to MLIR")
    stages.wrap(record.PlanWriter, "plan", "write the Plan")
    stages.wrap(record, "record", "rest of record()")
    stages.wrap(protocol, "encode_frame", "encode")
    profile = cProfile.Profile()
    if functions:
        profile.enable()
    reply = record.record(request)
    protocol.encode_frame(reply)
    profile.disable()
    stats = {}
    if functions:
        held = pstats.Stats(profile, stream=io.StringIO()).stats
        stats = {f"{f}:{n}": [t[2], t[3], t[0]] for (f, _, n), t in held.items()}
    return {"ok": reply["ok"], "plan": reply.get("plan") if request["role"] == "reference" else None,
            "stages": stages.spent, "functions": stats, "why": None if reply["ok"] else str(reply)[:300]}


def forked(request, functions=False):
    """child() in a forked process: its answer, CPU seconds and page faults."""
    reader, writer = os.pipe()
    begun = time.process_time()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        answer = json.dumps(child(request, functions), default=lambda o: o.hex() if isinstance(o, bytes) else str(o)).encode()
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(answer)
        os._exit(0)
    fork = time.process_time() - begun
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = json.loads(pipe.read())
    _, _, usage = os.wait4(pid, 0)
    return answer, usage.ru_utime + usage.ru_stime, usage.ru_minflt, fork


def inputs_of(plan):
    """Descriptors of the generated inputs."""
    tensors = plan["tensors"]

    def value(item):
        if isinstance(item, dict) and "t" in item:
            _, dtype, sizes, strides, *_ = tensors[item["t"]]
            return {"tensor": [dtype, sizes, strides]}
        return [value(x) for x in item] if isinstance(item, list) else item

    return [value(item) for item in plan["inputs"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("batch", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--functions", action="store_true", help="also the functions that take longest (by cProfile, which slows everything)")
    args = parser.parse_args()
    record.warm_up()
    lines = [json.loads(line) for line in args.batch.read_text().splitlines()][: args.count]
    by_role = {}
    for role in ("reference", "candidate"):
        by_role[role] = {"stages": collections.Counter(), "cpu": 0.0, "faults": 0, "fork": 0.0, "count": 0,
                         "functions": collections.defaultdict(lambda: [0.0, 0.0, 0])}
    for line in lines:
        plan = None
        for role in ("reference", "candidate"):
            request = {"role": role, "source": line[role], "entry": "Model" if role == "reference" else "ModelNew", "kind": "class",
                       "capability": [9, 0]}
            if role == "candidate":
                request |= {"init_inputs": [], "inputs": inputs_of(plan)}
            answer, cpu, faults, fork = forked(request, args.functions)
            if not answer["ok"]:
                print(line["id"], role, answer["why"])
                break
            plan = answer["plan"]
            total = by_role[role]
            total["stages"].update(answer["stages"])
            total["cpu"] += cpu
            total["faults"] += faults
            total["fork"] += fork
            total["count"] += 1
            for name, (own, all_, calls) in answer["functions"].items():
                held = total["functions"][name]
                held[0] += own
                held[1] += all_
                held[2] += calls
    for role, total in by_role.items():
        n = max(1, total["count"])
        print(f"{role}: {n} programs, {1e3 * total['cpu'] / n:.1f} ms of CPU each, {total['faults'] / n:.0f} page faults, fork in the parent {1e3 * total['fork'] / n:.1f} ms")
        known = sum(total["stages"].values())
        for stage, seconds in total["stages"].most_common():
            print(f"  {stage:24} {1e3 * seconds / n:7.1f}")
        print(f"  {'start, end, measuring':24} {1e3 * (total['cpu'] - known) / n:7.1f}")
        for name, (own, all_, calls) in sorted(total["functions"].items(), key=lambda item: -item[1][0])[: 40 if args.functions else 0]:
            print(f"    own {1e3 * own / n:6.2f}  all {1e3 * all_ / n:6.2f}  {calls / n:8.1f} calls  {name[-80:]}")


if __name__ == "__main__":
    main()
