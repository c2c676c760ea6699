"""What a module takes when it is called from Python, as its user calls it, beside what it takes as a CUDA graph.

    python3 bench/called_times.py ANSWERS.jsonl --out times.json [--workers 6] [--seconds 1.0] [--only TEXT ...]
    python3 bench/called_times.py --shipped REFERENCES MODULES --out times.json

ANSWERS.jsonl is what `tritogen eval --suite kernelbench … --answers FILE` writes: `id`, `reference` (source with Model, get_inputs,
get_init_inputs) and `answer` (source with ModelNew); the first answer to each task is timed.
--shipped: files of the folder REFERENCES, and of the folder MODULES what `tritogen convert` has written for those of the same names;
these are timed a second time with Triton's own launches (`ours_jit`). Their outputs must be the same bits both ways.

Times are of CUDA events around one call, behind a flush of the L2, the two modules taking turns; microseconds, medians. `graph`: of
a replay of the call captured in a CUDA graph. `host`: until the call returns, nothing waited for. First every module runs once in
--workers processes, so that Triton's cache on disk has its kernels.
"""
import argparse
import gc
import json
import multiprocessing
import pathlib
import statistics
import sys
import time


def load(name, source):
    """A module from text; Triton reads the text of its kernels from a file."""
    import importlib.util
    import tempfile

    with tempfile.NamedTemporaryFile("w", suffix=".py", prefix=name, delete=False) as file:
        file.write(source)
    spec = importlib.util.spec_from_file_location(name + file.name.replace("/", "_").replace(".", "_"), file.name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def on_gpu(value):
    import torch

    if isinstance(value, torch.Tensor):
        return value.cuda()
    return type(value)(on_gpu(v) for v in value) if isinstance(value, (list, tuple)) else value


def made(line):
    """Reference, answer, inputs, the answer's file; the answer has the reference's weights."""
    import torch

    reference = load("reference", line["reference"])
    torch.manual_seed(1)
    arguments = reference.get_init_inputs()
    model = reference.Model(*arguments).cuda()
    answer = load("answer", line["answer"])
    ours = getattr(answer, "ModelNew", None) or answer.Model
    ours = ours(*arguments).cuda()
    ours.load_state_dict(model.state_dict(), strict=False)
    torch.manual_seed(2)
    inputs = [on_gpu(x) for x in reference.get_inputs()]
    return model, ours, inputs, answer


def by_jit(answer, call):
    """The same call with Triton's own launches."""
    def launch(kept, place, kernel, grid, options, /, **arguments):
        kernel[grid](**arguments, **options)

    def called():
        kept, answer._launch = answer._launch, launch
        try:
            return call()
        finally:
            answer._launch = kept

    return called


def same_bits(one, other):
    import torch

    if isinstance(one, torch.Tensor):
        return torch.equal(one.contiguous().view(torch.uint8), other.contiguous().view(torch.uint8))
    return all(map(same_bits, one, other)) if isinstance(one, (list, tuple)) else one == other


def warm(line):
    import torch

    try:
        with torch.no_grad():
            _, ours, inputs, _ = made(line)
            ours(*inputs)
            torch.cuda.synchronize()
        return line["id"], None
    except Exception as error:  # whatever an answer does
        return line["id"], f"{type(error).__name__}: {error}"[:300]
    finally:
        ours = inputs = None
        gc.collect()
        torch.cuda.empty_cache()


def captured(call):
    import torch

    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        call()
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph.replay


def sample(call, flush):
    import torch

    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    flush.zero_()
    torch.cuda.synchronize()  # so that the host is not ahead: what it needs for launches shows, as in a user's loop that waits
    start.record()
    begin = time.perf_counter()
    call()
    host = 1e6 * (time.perf_counter() - begin)
    end.record()
    end.synchronize()
    return 1e3 * start.elapsed_time(end), host


def times(line, seconds):
    import torch

    with torch.no_grad():
        model, ours, inputs, answer = made(line)
        calls = {"eager": lambda: model(*inputs), "ours": lambda: ours(*inputs)}
        if hasattr(answer, "_launch"):
            calls["ours_jit"] = by_jit(answer, calls["ours"])
            calls["ours"](), calls["ours_jit"]()
            assert same_bits(calls["ours"](), calls["ours_jit"]()), "kept launches give another answer than Triton's own"
        for _ in range(3):
            for call in calls.values():
                call()
        torch.cuda.synchronize()
        for name in ("eager", "ours"):
            try:
                calls[name + "_graph"] = captured(calls[name])
            except Exception as error:
                print(line["id"], name, "is not captured:", str(error)[:100], flush=True)
        flush = torch.empty(64 << 20, dtype=torch.int32, device="cuda")
        samples = {name: [] for name in calls}
        until = time.monotonic() + seconds
        while len(samples["ours"]) < 5 or (time.monotonic() < until and len(samples["ours"]) < 40):
            for name, call in calls.items():
                samples[name].append(sample(call, flush))
        result = {"id": line["id"], "samples": len(samples["ours"])}
        for name, of in samples.items():
            result[name + "_us"] = round(statistics.median(s[0] for s in of), 1)
            if not name.endswith("_graph"):
                result[name + "_host_us"] = round(statistics.median(s[1] for s in of), 1)
        return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("answers", nargs="?")
    parser.add_argument("--shipped", nargs=2, metavar=("REFERENCES", "MODULES"))
    parser.add_argument("--out", required=True)
    parser.add_argument("--workers", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--limit", type=float, default=1e9, help="seconds for all")
    parser.add_argument("--only", nargs="*", default=[])
    options = parser.parse_args()
    start = time.monotonic()
    if options.shipped:
        references, modules = map(pathlib.Path, options.shipped)
        lines = [{"id": m.name, "reference": (references / m.name).read_text(), "answer": m.read_text()} for m in sorted(modules.glob("*.py"))]
    else:
        first = {}
        for line in map(json.loads, open(options.answers)):
            first.setdefault(line["id"], line)
        lines = list(first.values())
    lines = [line for line in lines if not options.only or any(t in line["id"] for t in options.only)]
    with multiprocessing.get_context("spawn").Pool(options.workers, maxtasksperchild=8) as pool:
        for done, (name, error) in enumerate(pool.imap_unordered(warm, lines)):
            if error:
                print("warm", name, error, flush=True)
            print(f"compiled {done + 1}/{len(lines)}  {time.monotonic() - start:.0f} s", end="\r", file=sys.stderr, flush=True)
    print(f"compiled in {time.monotonic() - start:.0f} s", flush=True)
    import torch

    report = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "tasks": []}
    for line in lines:
        if time.monotonic() - start > options.limit:
            break
        try:
            result = times(line, options.seconds)
        except Exception as error:
            result = {"id": line["id"], "error": f"{type(error).__name__}: {error}"[:300]}
        gc.collect()
        torch.cuda.empty_cache()
        report["tasks"].append(result)
        print(json.dumps(result), flush=True)
        with open(options.out, "w") as out:
            json.dump(report, out, indent=1)


if __name__ == "__main__":
    main()
