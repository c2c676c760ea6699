#!/usr/bin/env python3
"""One model on 1 and on N GPUs: tokens per second, whether greedy texts are equal, and what happens when a rank dies or hangs.

    TRITOGEN_PYTHON=python3 TRITOGEN_BINARY=path python3 bench/tensor_parallel.py [--gpus N] [--seconds 145] [--out FILE]
    … --rehearse: the same on CPUs with a tiny model, where the tile machine stands for each GPU

Prints one JSON object. What the time does not suffice for is left out and named in `left_out`, the most important things come first.
A run that fails is repeated with NCCL_DEBUG=WARN, kernel by kernel (--no-graphs) and with graphs whose buffers NCCL does not
register; the messages are kept. TRITOGEN_PYTHON needs torch.
"""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TAIL = 3000  # characters of messages that are kept
HEADS_OF_HALF = 14  # of the 0.5B shape: two GPUs can share them, four cannot
MOST_SECONDS = 180.0  # of a run: on a fresh machine CUDA's libraries come from a cold disk, and no kernel is compiled


class Bench:
    def __init__(self, o: argparse.Namespace, work: pathlib.Path):
        self.o, self.work = o, work
        self.end = time.monotonic() + o.seconds
        self.report = {"gpus": o.gpus, "runs": {}, "left_out": []}

    def save(self) -> str:
        text = json.dumps(self.report, indent=1)
        if self.o.out:
            pathlib.Path(self.o.out).write_text(text + "\n")
        return text

    def left(self) -> float:
        return self.end - time.monotonic()

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen:
        return subprocess.Popen([ROOT / "tritogen", *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                cwd=self.work, env={**os.environ, **environment}, start_new_session=True)  # fmt: skip

    def once(self, arguments: list[str], **environment: str) -> dict:
        began = time.monotonic()
        process = self.start(*arguments, **environment)
        try:
            out, err = process.communicate(timeout=max(5.0, min(MOST_SECONDS, self.left())))
        except subprocess.TimeoutExpired:
            out, err = stop(process)
        seconds = round(time.monotonic() - began, 1)
        command = " ".join(map(str, arguments))
        return {"command": command, "exit": process.returncode, "command_seconds": seconds, "out": out, "err": err}

    def run(self, name: str, arguments: list[str], needs: float) -> dict | None:
        """The run, or nothing when it failed or there is no time; the report says so."""
        if self.left() < needs:
            self.report["left_out"].append(name)
            return None
        run = self.once(arguments)
        entry = {k: run[k] for k in ("command", "exit", "command_seconds")}
        self.report["runs"][name] = entry
        self.save()
        print(f"{name}: exit {run['exit']} after {run['command_seconds']} s", file=sys.stderr, flush=True)
        if run["exit"] == 0:
            entry["said"] = run["err"].strip()[-300:]
            return run
        entry["stderr"], entry["stdout"] = run["err"][-TAIL:], run["out"][-TAIL:]
        for other in ("without graphs", "graphs, NCCL_GRAPH_REGISTER=0"):
            if self.left() < needs:
                break
            if other == "without graphs":
                again = self.once([*arguments, "--no-graphs"], NCCL_DEBUG="WARN")
            else:
                again = self.once(arguments, NCCL_DEBUG="WARN", NCCL_GRAPH_REGISTER="0")
            entry[other] = {"exit": again["exit"], "stderr": again["err"][-TAIL:], "stdout": again["out"][-TAIL:]}
        return None

    def parallel(self, ranks: int) -> list[str]:
        device = ["--device", "cpu"] if self.o.rehearse else []
        return [*device, *(["--tensor-parallel", str(ranks)] if ranks > 1 else [])]

    def engine(self, name: str, ranks: int, needs: float, *options: str) -> dict | None:
        """`bench engine`: its report, and its greedy tokens."""
        tokens = self.work / "tokens.json"
        arguments = ["bench", "engine", *self.parallel(ranks), "--temperature", "0", "--tokens", tokens, *options]
        run = self.run(name, arguments, needs)
        if run is None:
            return None
        entry = self.report["runs"][name]
        found = json.loads(run["out"].strip().splitlines()[-1])
        entry |= {k: found.get(k) for k in ("device", "dtype", "limit_tokens_per_second")}
        entry |= found["runs"][-1]
        self.save()
        return {"tokens": json.loads(tokens.read_text()), "rate": entry["tokens_per_second"],
                "decode": entry.get("decode_tokens_per_second")}  # fmt: skip

    def wants(self, name: str) -> bool:
        return not self.o.only or any(part in name for part in self.o.only)

    def compare(self, name: str, needs: float, *options: str) -> None:
        """The same run on 1 and on all GPUs."""
        if not self.wants(name):
            return
        many = self.engine(f"{name}, {self.o.gpus} GPUs", self.o.gpus, needs, *options)
        one = self.engine(f"{name}, 1 GPU", 1, needs, *options)
        if one is None or many is None:
            return
        result = {"times_faster": round(many["rate"] / one["rate"], 3), **agreement(one["tokens"], many["tokens"])}
        if one["decode"] and many["decode"]:
            result["times_faster_in_decode"] = round(many["decode"] / one["decode"], 3)
        self.report.setdefault("compared", {})[name] = result
        self.save()

    def generate(self, folder: pathlib.Path, needs: float) -> None:
        prompts = self.work / "prompts.jsonl"
        prompts.write_text("".join(json.dumps({"id": str(i), "prompt": f"def f{i}(x):\n    return x + {i} " * (1 + i % 5)}) + "\n"
                                   for i in range(24)))  # fmt: skip
        texts = {}
        for ranks in (self.o.gpus, 1):
            length = "6" if self.o.rehearse else "64"
            arguments = ["generate", "--model", folder, *self.parallel(ranks), "--prompts", prompts, "--dtype", "float32", "--temperature",
                         "0", "--max-tokens", length, "--seed", "1", "--json", "--context", "512", "--ignore-eos"]  # fmt: skip
            run = self.run(f"generate, {ranks} GPU{'s' * (ranks > 1)}", arguments, needs)
            if run is not None:
                answers = sorted((json.loads(line) for line in run["out"].split("\n") if line), key=lambda a: int(a["id"]))
                texts[ranks] = [a["tokens"] for a in answers]
        if len(texts) == 2:
            self.report.setdefault("compared", {})["generate from a folder, float32"] = agreement(texts[1], texts[self.o.gpus])

    def harm(self, name: str, what: signal.Signals, needs: float, *options: str) -> None:
        """A rank gets a signal in the middle of a run."""
        if not self.wants(name):
            return
        if self.left() < needs:
            self.report["left_out"].append(name)
            return
        process = self.start("bench", "engine", *self.parallel(self.o.gpus), "--repeat", "1000", *options)
        process.stdout.readline()  # the first run is over
        rank = ranks_of(process.pid).get(f"tritogen-rank{self.o.gpus - 1}")
        began = time.monotonic()
        if rank is not None:
            os.kill(rank, what)
        try:
            err = process.communicate(timeout=40)[1]
        except subprocess.TimeoutExpired:
            err = stop(process)[1]
        entry = {"exit": process.returncode, "seconds_to_the_end": round(time.monotonic() - began, 2), "message": err.strip()[-TAIL:]}
        time.sleep(0.5)
        entry["process_left_behind"] = rank is not None and pathlib.Path(f"/proc/{rank}").exists()
        self.report[name] = entry | ({} if rank is not None else {"fault": "no rank was found"})
        self.save()


def stop(process: subprocess.Popen) -> tuple[str, str]:
    """What a run that took too long had printed. Of one that a driver does not let go nothing is waited for."""
    waits = where_it_waits(process.pid)
    os.killpg(process.pid, signal.SIGKILL)  # who else holds the pipes' ends (compilers, ranks) goes, too
    try:
        out, err = process.communicate(timeout=10)
    except subprocess.TimeoutExpired:
        out, err = "", f"(SIGKILL does not end it; threads wait in {where_it_waits(process.pid)})"
    return out, err + f"\n(stopped: it took too long; threads waited in {waits})"


def where_it_waits(pid: int) -> dict[str, list[str]]:
    """Of a process and its ranks: what each thread is called, its state, and the kernel's function that it waits in."""
    found = {}
    for each in (pid, *ranks_of(pid).values()):
        found[str(each)] = []
        for task in pathlib.Path(f"/proc/{each}/task").glob("*"):
            try:
                state = (task / "stat").read_text().rpartition(")")[2].split()[0]
                found[str(each)].append(f"{(task / 'comm').read_text().strip()} {state} {(task / 'wchan').read_text()}")
            except OSError:
                continue
    return found


def ranks_of(pid: int) -> dict[str, int]:
    """The ranks that a process has started and not lost, by their names."""
    found = {}
    for status in pathlib.Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(line.split(":\t", 1) for line in status.read_text().splitlines() if ":\t" in line)
        except OSError:
            continue
        if fields.get("PPid") == str(pid) and fields["Name"].startswith("tritogen-rank") and not fields["State"].startswith("Z"):
            found[fields["Name"]] = int(fields["Pid"])
    return found


def agreement(one: list[list[int]], many: list[list[int]]) -> dict:
    """Shares: of answers that are equal, of tokens that are, and of those before an answer's first difference."""
    equal = same = before = total = 0
    for a, b in zip(one, many, strict=True):
        first = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
        equal += a == b
        same += sum(x == y for x, y in zip(a, b))
        before += first
        total += max(len(a), len(b))
    return {"answers": len(one), "equal_answers": round(equal / len(one), 4), "equal_tokens": round(same / total, 4),
            "tokens_before_a_difference": round(before / total, 4)}  # fmt: skip


MAKE_MODEL = """
import json, pathlib, struct, sys, torch
folder = pathlib.Path(sys.argv[1]); small = sys.argv[2] == "1"
hidden, inter, layers, heads, kv, dim, vocab = (64, 128, 2, 4, 2, 32, 2048) if small else (512, 1536, 4, 8, 4, 64, 4096)
config = {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_act": "silu", "vocab_size": vocab, "hidden_size": hidden,
          "intermediate_size": inter, "num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": kv,
          "head_dim": dim, "max_position_embeddings": 4096, "rms_norm_eps": 1e-6, "rope_theta": 1e6, "tie_word_embeddings": False,
          "attention_bias": False, "torch_dtype": "float32"}
shapes = {"model.embed_tokens.weight": (vocab, hidden), "model.norm.weight": (hidden,), "lm_head.weight": (vocab, hidden)}
for i in range(layers):
    at = f"model.layers.{i}."
    for name, rows, columns in (("self_attn.q_proj", heads * dim, hidden), ("self_attn.k_proj", kv * dim, hidden),
                                ("self_attn.v_proj", kv * dim, hidden), ("self_attn.o_proj", hidden, heads * dim),
                                ("mlp.gate_proj", inter, hidden), ("mlp.up_proj", inter, hidden), ("mlp.down_proj", hidden, inter)):
        shapes[at + name + ".weight"] = (rows, columns)
    for name, size in (("input_layernorm", hidden), ("post_attention_layernorm", hidden), ("self_attn.q_norm", dim),
                       ("self_attn.k_norm", dim)):
        shapes[at + name + ".weight"] = (size,)
torch.manual_seed(1)
header, data, offset = {}, [], 0
for name, shape in shapes.items():
    tensor = torch.randn(shape) * 0.1 if len(shape) == 2 else torch.ones(shape)
    raw = tensor.numpy().tobytes()  # bytes() of a storage goes byte by byte
    header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [offset, offset + len(raw)]}
    data.append(raw); offset += len(raw)
text = json.dumps(header).encode()
(folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + b"".join(data))
(folder / "config.json").write_text(json.dumps(config))
"""


def make_model(folder: pathlib.Path, small: bool) -> None:
    folder.mkdir()
    python = os.environ.get("TRITOGEN_PYTHON", sys.executable)
    subprocess.run([python, "-c", MAKE_MODEL, folder, str(int(small))], check=True, stdout=sys.stderr)
    (folder / "tokenizer.json").write_bytes((ROOT / "tests/golden/tokenizers/qwen3.json").read_bytes())


def measure(b: Bench) -> None:
    if b.o.rehearse:
        small = ["--shape", "tiny", "--sequences", "3", "--prompt", "9", "--answer", "6"]
        b.compare("tiny, bfloat16", 5, *small)
        b.compare("tiny, float32", 5, *small, "--dtype", "float32", "--repeat", "1")
        needs, harm = 5, small
    else:
        half = ["--shape", "qwen2.5-0.5b"]
        divides = HEADS_OF_HALF % b.o.gpus == 0
        if divides:
            b.compare("0.5B, bfloat16", 30, *half, "--sequences", "256", "--prompt", "512", "--answer", "128")
        b.compare("8B, bfloat16", 30, "--shape", "8b", "--sequences", "64", "--prompt", "512", "--answer", "128")
        if divides:
            b.compare("0.5B, float32", 20, *half, "--dtype", "float32", "--sequences", "32", "--prompt", "64", "--answer", "64",
                      "--repeat", "1")  # fmt: skip
        needs, harm = 20, [*(half if divides else ["--shape", "8b"]), "--sequences", "64", "--prompt", "64", "--answer", "64"]
    b.harm("a killed rank", signal.SIGKILL, needs, *harm)
    if b.wants("generate"):
        make_model(b.work / "model", b.o.rehearse)
        b.generate(b.work / "model", needs)
    b.harm("a rank that hangs", signal.SIGSTOP, needs, *harm, "--rank-timeout", "3")
    if not b.o.rehearse and divides and b.wants("without graphs"):
        b.engine("0.5B, bfloat16, all GPUs, without graphs", b.o.gpus, 20, "--no-graphs", "--shape", "qwen2.5-0.5b", "--sequences", "256",
                 "--prompt", "512", "--answer", "64")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpus", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=145, help="for all of it")
    parser.add_argument("--out", help="JSON file, written after every run")
    parser.add_argument("--only", nargs="*", help="runs whose names have one of these in them: 8B, generate, rank, …")
    parser.add_argument("--rehearse", action="store_true")
    o = parser.parse_args()
    os.environ.setdefault("TRITOGEN_PYTHON", sys.executable)
    for name in ("TRITOGEN_PYTHON", "TRITOGEN_BINARY"):  # commands run in another folder
        if "/" in (path := os.environ.get(name, "")):
            os.environ[name] = os.path.abspath(path)
    with tempfile.TemporaryDirectory() as work:
        bench = Bench(o, pathlib.Path(work))
        try:
            measure(bench)
        except Exception as error:  # what was measured before is worth having
            bench.report["fault"] = f"{type(error).__name__}: {error}"
        print(bench.save())


if __name__ == "__main__":
    main()
