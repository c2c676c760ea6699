"""Tokens a second of the CPU runner and of transformers' generate: the same random model of 20M parameters, greedy, the same prompts.

    ninja -C build/release cpu_generate_bench && .venv/bin/python bench/cpu_generate_bench.py [--repeats N]

Contenders take turns, so that a busy machine slows all of them; ratios are of neighbouring runs, and their median is printed. With
--threads 1, seconds of the CPU say more than the clock's when others use the machine, too.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import tempfile
import time
import typing

import numpy as np
import torch
from transformers import AutoModelForCausalLM, Qwen3Config

ROOT = pathlib.Path(__file__).resolve().parents[1]


def make_model(folder: pathlib.Path) -> None:
    torch.manual_seed(0)
    config = Qwen3Config(vocab_size=8192, hidden_size=512, intermediate_size=1536, num_hidden_layers=8, num_attention_heads=8,
                         num_key_value_heads=2, head_dim=64, max_position_embeddings=4096, tie_word_embeddings=True, eos_token_id=None)  # fmt: skip
    model = AutoModelForCausalLM.from_config(config).to(torch.bfloat16)
    with torch.no_grad():  # greater than in training's first step, or the greatest logits were close to each other
        for parameter in model.parameters():
            if parameter.dim() == 2:
                parameter.mul_(3)
    model.save_pretrained(folder)
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.1f}M parameters")


class Run(typing.NamedTuple):
    prefill: np.ndarray  # seconds of the clock and of the CPU
    decode: np.ndarray
    tokens: torch.Tensor


class Ours:
    def __init__(self, folder: pathlib.Path, int8: bool, threads: int):
        program = str(ROOT / "build/release/bench/cpu_generate_bench")
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ask(load=str(folder), int8=int8, threads=threads)

    def ask(self, **request) -> dict:
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def run(self, prompts: torch.Tensor, new: int) -> Run:
        answer = self.ask(prompts=prompts.tolist(), new=new)
        return Run(np.array(answer["prefill"]), np.array(answer["decode"]), torch.tensor(answer["tokens"]))


class Theirs:
    def __init__(self, folder: pathlib.Path, dtype: torch.dtype):
        self.model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype).eval()

    @torch.inference_mode()
    def run(self, prompts: torch.Tensor, new: int) -> Run:
        times = []

        def generate(count: int) -> torch.Tensor:
            start = np.array([time.perf_counter(), time.process_time()])
            out = self.model.generate(prompts, attention_mask=torch.ones_like(prompts), max_new_tokens=count, do_sample=False, pad_token_id=0)
            times.append(np.array([time.perf_counter(), time.process_time()]) - start)
            return out[:, prompts.shape[1] :]

        generate(1)  # the prompt and one token
        tokens = generate(new)
        return Run(times[0], times[1] - times[0], tokens)


def agreement(a: torch.Tensor, b: torch.Tensor) -> float:
    """Share of tokens before the first that differs: rounding decides close calls, and after one nothing can be compared."""
    same = (a == b).int().cumprod(1)
    return same.float().mean().item()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--prompt", type=int, default=128)
    parser.add_argument("--new", type=int, default=64)
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory() as folder:
        make_model(pathlib.Path(folder))
        contenders = {
            "tritogen bf16": Ours(folder, False, options.threads),
            "tritogen int8": Ours(folder, True, options.threads),
            "transformers bf16": Theirs(folder, torch.bfloat16),
            "transformers fp32": Theirs(folder, torch.float32),
        }
        for batch in options.batches:
            prompts = torch.randint(0, 8192, (batch, options.prompt))
            for contender in contenders.values():
                contender.run(prompts, 2)  # warms up
            runs = [{name: contender.run(prompts, options.new) for name, contender in contenders.items()} for _ in range(options.repeats)]
            report(runs, batch, options)


def report(runs: list[dict[str, Run]], batch: int, options: argparse.Namespace) -> None:
    for name in runs[0]:
        decode, prefill = (np.median([getattr(run[name], what) for run in runs], axis=0) for what in ("decode", "prefill"))
        rivals = [np.min([run[r].decode for r in run if r.startswith("transformers")], axis=0) for run in runs]
        ratio = np.median([rival / run[name].decode for rival, run in zip(rivals, runs, strict=True)], axis=0)
        print(f"batch {batch}  {name:18} decode {batch * options.new / decode[0]:8.0f} tokens/s (a step: {1e3 * decode[0] / options.new:.2f} ms, "
              f"{1e3 * decode[1] / options.new:.2f} ms of CPU), {ratio[0]:.2f} times the better transformers ({ratio[1]:.2f} by CPU time); "
              f"prefill {batch * options.prompt / prefill[0]:.0f} tokens/s ({batch * options.prompt / prefill[1]:.0f} a CPU second); "
              f"tokens as transformers fp32: {agreement(runs[-1][name].tokens, runs[-1]['transformers fp32'].tokens):.2f}", flush=True)  # fmt: skip


main()
