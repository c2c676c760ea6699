#!/usr/bin/env python3
"""What `tritogen bench engine` is compared with, on the same GPU: tokens per second with random weights of the same shapes.

    bench/engine_rivals.py loop|transformers [--shape qwen2.5-0.5b|24m] [--sequences N] [--prompt N] [--answer N]

loop: a decode loop as one writes it by hand in PyTorch: a static cache, one CUDA graph for a step, attention in Triton (the engine's own
kernel, over a contiguous cache), everything else PyTorch's operators; prefill through scaled_dot_product_attention. All prompts have one
length, so that nothing is scheduled. transformers: its own `generate` (sampling, bf16, its default dynamic cache).
Prints one JSON object.
"""
import argparse
import json
import pathlib
import sys
import time

import torch
import torch.nn.functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
SHAPES = {  # vocabulary, hidden, intermediate, layers, heads, kv_heads, head_dim
    "qwen2.5-0.5b": (151936, 896, 4864, 24, 14, 2, 64),
    "24m": (4096, 512, 1536, 8, 8, 2, 64),
}
BLOCK = 64


class Loop:
    def __init__(self, shape, rows, length):
        self.vocabulary, self.hidden, self.inter, layers, self.heads, self.kv, self.d = SHAPES[shape]
        make = lambda *size: torch.randn(*size, device="cuda", dtype=torch.bfloat16) * 0.02  # noqa: E731
        q, kv = self.heads * self.d, self.kv * self.d
        self.embedding = make(self.vocabulary, self.hidden)
        self.layers = [(make(q + 2 * kv, self.hidden), make(q + 2 * kv), make(self.hidden, q), make(2 * self.inter, self.hidden),
                        make(self.hidden, self.inter), torch.ones(self.hidden, device="cuda", dtype=torch.bfloat16)) for _ in range(layers)]
        self.width = -(-length // BLOCK)
        cache = (rows * self.width, self.kv, BLOCK, self.d)
        self.keys = [torch.zeros(cache, device="cuda", dtype=torch.bfloat16) for _ in range(layers)]
        self.values = [torch.zeros(cache, device="cuda", dtype=torch.bfloat16) for _ in range(layers)]
        self.tables = torch.arange(rows * self.width, device="cuda", dtype=torch.int32).view(rows, self.width)
        angle = torch.arange(length, device="cuda")[:, None] / 10000 ** (torch.arange(0, self.d, 2, device="cuda") / self.d)
        self.rope = torch.stack([angle.cos(), angle.sin()], 1).contiguous()  # (positions, 2, d/2)

    def norm(self, x, weight):
        return F.rms_norm(x, (self.hidden,), weight, 1e-6)

    def rotate(self, x, cos, sin):  # (rows, heads, d)
        a, b = x.float().chunk(2, -1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1).to(x.dtype)

    def step(self, tokens, positions):
        from kernels.attention import paged_decode

        rows = len(tokens)
        x = self.embedding[tokens]
        cos, sin = self.rope[positions].unbind(1)
        block = self.tables[torch.arange(rows, device="cuda"), positions // BLOCK].long()
        for i, (qkv, bias, out, gate_up, down, weight) in enumerate(self.layers):
            q, k, v = F.linear(self.norm(x, weight), qkv, bias).view(rows, -1, self.d).split([self.heads, self.kv, self.kv], 1)
            q, k = self.rotate(q, cos[:, None], sin[:, None]), self.rotate(k, cos[:, None], sin[:, None])
            self.keys[i][block, :, positions % BLOCK] = k
            self.values[i][block, :, positions % BLOCK] = v
            attended = torch.empty(rows, self.heads * self.d, device="cuda", dtype=x.dtype)
            paged_decode[(rows, self.kv)](q.contiguous(), q, q, self.rope, self.keys[i], self.values[i], self.tables,
                                          positions.int(), attended, attended, self.width, self.heads, self.kv,
                                          self.d**-0.5 * 1.4426950408889634, 1e-6, 0, self.d, FRESH=False, NORM=False, SPLIT=False, GROUP=16,
                                          D=self.d, PADDED=False, BLOCK=BLOCK, PRECISION="tf32", PDL=False, num_warps=1, num_stages=3)  # fmt: skip
            x = x + F.linear(attended, out)
            gate, up = F.linear(self.norm(x, weight), gate_up).chunk(2, -1)
            x = x + F.linear(F.silu(gate) * up, down)
        logits = F.linear(self.norm(x, self.layers[0][5]), self.embedding).float()
        return (logits - torch.empty_like(logits).exponential_().log()).argmax(-1)

    def prefill(self, tokens):  # (rows, length)
        rows, length = tokens.shape
        x = self.embedding[tokens]
        cos, sin = self.rope[:length].unbind(1)
        for i, (qkv, bias, out, gate_up, down, weight) in enumerate(self.layers):
            q, k, v = F.linear(self.norm(x, weight), qkv, bias).view(rows, length, -1, self.d).split([self.heads, self.kv, self.kv], 2)
            q, k = self.rotate(q, cos[:, None], sin[:, None]), self.rotate(k, cos[:, None], sin[:, None])
            for cache, new in ((self.keys[i], k), (self.values[i], v)):
                grown = F.pad(new, (0, 0, 0, 0, 0, -length % BLOCK)).view(rows, -1, BLOCK, self.kv, self.d).transpose(2, 3)
                cache[self.tables[self.at : self.at + rows, : grown.shape[1]].long()] = grown
            attended = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=True, enable_gqa=True)
            x = x + F.linear(attended.transpose(1, 2).reshape(rows, length, -1), out)
            gate, up = F.linear(self.norm(x, weight), gate_up).chunk(2, -1)
            x = x + F.linear(F.silu(gate) * up, down)
        logits = F.linear(self.norm(x[:, -1], self.layers[0][5]), self.embedding).float()
        return (logits - torch.empty_like(logits).exponential_().log()).argmax(-1)


@torch.inference_mode()
def run_loop(o):
    loop = Loop(o.shape, o.sequences, o.prompt + o.answer + 1)
    prompts = torch.randint(loop.vocabulary, (o.sequences, o.prompt), device="cuda")
    tokens = torch.zeros(o.sequences, device="cuda", dtype=torch.long)
    positions = torch.full((o.sequences,), o.prompt, device="cuda")

    def step():
        tokens.copy_(loop.step(tokens, positions))
        positions.add_(1)

    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    for _ in range(2):  # the first one warms up
        torch.cuda.synchronize()
        start = time.perf_counter()
        first = []
        batch = max(1, 16384 // o.prompt)
        for loop.at in range(0, o.sequences, batch):
            first.append(loop.prefill(prompts[loop.at : loop.at + batch]))
        tokens.copy_(torch.cat(first))
        positions.fill_(o.prompt)
        torch.cuda.synchronize()
        prefilled = time.perf_counter()
        for _ in range(o.answer - 1):
            graph.replay()
        torch.cuda.synchronize()
        end = time.perf_counter()
    made = o.sequences * o.answer
    return {"tokens_per_second": made / (end - start), "decode_tokens_per_second": o.sequences * (o.answer - 1) / (end - prefilled),
            "prefill_seconds": prefilled - start}  # fmt: skip


@torch.inference_mode()
def run_transformers(o):
    import transformers

    vocabulary, hidden, inter, layers, heads, kv, d = SHAPES[o.shape]
    if o.shape == "24m":
        config = transformers.Qwen3Config(head_dim=d)
    else:
        config = transformers.Qwen2Config()
    config.update(dict(vocab_size=vocabulary, hidden_size=hidden, intermediate_size=inter, num_hidden_layers=layers, tie_word_embeddings=True,
                       num_attention_heads=heads, num_key_value_heads=kv, max_position_embeddings=32768, layer_types=["full_attention"] * layers,
                       max_window_layers=layers))  # fmt: skip
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        model = transformers.AutoModelForCausalLM.from_config(config).eval()
    prompts = torch.randint(vocabulary, (o.sequences, o.prompt), device="cuda")
    steps = min(o.answer, 64)  # its steps take so long that a few tell
    options = dict(do_sample=True, top_k=0, eos_token_id=None, pad_token_id=0, attention_mask=torch.ones_like(prompts))
    times = {}
    for count in (4, 1, steps):
        torch.cuda.synchronize()
        start = time.perf_counter()
        model.generate(prompts, max_new_tokens=count, min_new_tokens=count, **options)
        torch.cuda.synchronize()
        times[count] = time.perf_counter() - start
    a_step = (times[steps] - times[1]) / (steps - 1)
    total = times[1] + a_step * (o.answer - 1)
    return {"tokens_per_second": o.sequences * o.answer / total, "decode_tokens_per_second": o.sequences / a_step, "measured_steps": steps,
            "version": transformers.__version__}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("loop", "transformers"))
    parser.add_argument("--shape", choices=SHAPES, default="24m")
    for name, default in (("sequences", 256), ("prompt", 512), ("answer", 512)):
        parser.add_argument("--" + name, type=int, default=default)
    o = parser.parse_args()
    result = {"loop": run_loop, "transformers": run_transformers}[o.what](o)
    print(json.dumps(vars(o) | result | {"device": torch.cuda.get_device_name(), "torch": torch.__version__}))


if __name__ == "__main__":
    main()
