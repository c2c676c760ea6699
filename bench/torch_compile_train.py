#!/usr/bin/env python3
"""The plain rival of training's passes: the same model in PyTorch with torch.compile, the same packed documents, bf16, fused AdamW.

    bench/torch_compile_train.py --hidden 384 --layers 10 --heads 6 --kv-heads 2 --intermediate 1024 --vocabulary 2048 --tokens 65536
    bench/torch_compile_train.py --device cpu --tokens 96 --shortest 5 --longest 40 --hidden 64 --layers 1 --vocabulary 128   a rehearsal

Attention is the quickest for the shape of flex_attention with a mask of documents, flash attention of varying lengths and, where all
documents are equally long, scaled_dot_product_attention of a batch of rows. By default weights and AdamW's state are bf16, which is less
work than Tritogen's float32 master weights; --weights fp32 trains under autocast.
The mask and the documents' starts are made once, not every step. One JSON line; MFU as src/train/flops.cc counts.
"""
import argparse
import json
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

PEAK = 989e12  # FLOP/s of an H200 in bf16, as bench/train_pass_bench.cc
WORD = (1 << 64) - 1


class SplitMix:
    """src/base/splitmix.h"""

    def __init__(self, seed):
        self.state = seed

    def below(self, bound):
        while True:
            self.state = (self.state + 0x9E3779B97F4A7C15) & WORD
            z = self.state
            z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & WORD
            z = (z ^ (z >> 27)) * 0x94D049BB133111EB & WORD
            product = (z ^ (z >> 31)) * bound
            if product & WORD >= -bound % (1 << 64) % bound:
                return product >> 64


def make_batch(o):
    """The batch of bench/train_pass_bench.cc, number by number: tokens, targets (-1: none), positions, lengths."""
    draw = SplitMix(7)
    tokens, targets, positions, lengths = [], [], [], []
    while len(tokens) < o.tokens:
        shortest = min(o.shortest, o.longest)
        length = min(o.tokens - len(tokens), shortest + draw.below(o.longest - shortest + 1))
        for i in range(length):
            tokens.append(draw.below(o.vocabulary))
            targets.append(draw.below(o.vocabulary) if (o.all_learned or i >= length // 2) and i < length - 1 else -1)
            positions.append(i)
        lengths.append(length)
    return [torch.tensor(x, device=o.device) for x in (tokens, targets, positions)] + [lengths]


def flex(lengths, o):
    document = torch.repeat_interleave(torch.arange(len(lengths)), torch.tensor(lengths)).to(o.device)
    n = len(document)
    make = torch.compile(create_block_mask) if o.device == "cuda" else create_block_mask
    mask = make(lambda b, h, q, k: (q >= k) & (document[q] == document[k]), None, None, n, n, device=o.device)

    def attend(q, k, v):
        q, k, v = (x.transpose(0, 1)[None] for x in (q, k, v))
        return flex_attention(q, k, v, block_mask=mask, enable_gqa=True)[0].transpose(0, 1)

    return attend


def varlen(lengths, o):
    from torch.nn.attention.varlen import varlen_attn

    starts = torch.tensor([0] + lengths).cumsum(0).int().to(o.device)
    longest = max(lengths)
    return lambda q, k, v: varlen_attn(q, k, v, starts, starts, longest, longest, window_size=(-1, 0))


def causal(lengths, o):
    """A batch of rows under one causal mask, where all documents are equally long: what a loop without documents calls."""
    rows, longest = len(lengths), lengths[0]
    if set(lengths) != {longest}:
        raise ValueError("documents of several lengths")

    def attend(q, k, v):
        q, k, v = (x.view(rows, longest, -1, o.head_dim).transpose(1, 2) for x in (q, k, v))
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True).transpose(1, 2).reshape(rows * longest, -1, o.head_dim)

    return attend


def dense(lengths, o):
    """A mask of all tokens, for rehearsals."""
    document = torch.repeat_interleave(torch.arange(len(lengths)), torch.tensor(lengths)).to(o.device)
    mask = (document[:, None] == document[None, :]).tril()

    def attend(q, k, v):
        q, k, v = (x.transpose(0, 1)[None] for x in (q, k, v))
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)[0].transpose(0, 1)

    return attend


FORMS = {"flex": flex, "varlen": varlen, "causal": causal, "dense": dense}


class Layer(nn.Module):
    def __init__(self, o):
        super().__init__()
        self.o = o
        width = (o.heads + 2 * o.kv_heads) * o.head_dim
        self.qkv = nn.Linear(o.hidden, width, bias=o.qwen2)
        self.out = nn.Linear(o.heads * o.head_dim, o.hidden, bias=False)
        self.gate_up = nn.Linear(o.hidden, 2 * o.intermediate, bias=False)
        self.down = nn.Linear(o.intermediate, o.hidden, bias=False)
        self.input_norm, self.mlp_norm = nn.RMSNorm(o.hidden, eps=1e-6), nn.RMSNorm(o.hidden, eps=1e-6)
        if not o.qwen2:
            self.q_norm, self.k_norm = nn.RMSNorm(o.head_dim, eps=1e-6), nn.RMSNorm(o.head_dim, eps=1e-6)

    def forward(self, x, cos, sin, attend):
        o = self.o
        q, k, v = self.qkv(self.input_norm(x)).view(-1, o.heads + 2 * o.kv_heads, o.head_dim).split([o.heads, o.kv_heads, o.kv_heads], 1)
        if not o.qwen2:
            q, k = self.q_norm(q), self.k_norm(k)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        x = x + self.out(attend(q, k, v).reshape(len(x), -1))
        gate, up = self.gate_up(self.mlp_norm(x)).chunk(2, -1)
        return x + self.down(F.silu(gate) * up)


def rotate(x, cos, sin):
    first, second = x.chunk(2, -1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1).to(x.dtype)


class Model(nn.Module):
    def __init__(self, o):
        super().__init__()
        self.o = o
        self.embedding = nn.Embedding(o.vocabulary, o.hidden)
        self.layers = nn.ModuleList(Layer(o) for _ in range(o.layers))
        self.norm = nn.RMSNorm(o.hidden, eps=1e-6)
        nn.init.normal_(self.embedding.weight, std=0.02)
        angle = torch.arange(o.longest)[:, None] / 10000 ** (torch.arange(0, o.head_dim, 2) / o.head_dim)[None, :]
        self.register_buffer("cos", angle.cos()), self.register_buffer("sin", angle.sin())

    def forward(self, tokens, targets, positions, attend):
        cos, sin = (table[positions][:, None].to(torch.bfloat16) for table in (self.cos, self.sin))
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x, cos, sin, attend)
        logits = F.linear(self.norm(x), self.embedding.weight)
        return F.cross_entropy(logits.float(), targets, ignore_index=-1, reduction="sum") * (2.0 / len(tokens))


def flops(o, lengths):
    """(what MFU counts, the same without the pairs that a causal mask leaves out)"""
    layer = o.hidden * (2 * o.heads * o.head_dim + 2 * o.kv_heads * o.head_dim + 3 * o.intermediate)
    squared = sum(length * length for length in lengths)
    products = 6 * (o.layers * layer + o.hidden * o.vocabulary) * o.tokens
    attention = 12 * o.layers * o.heads * o.head_dim * squared
    return products + attention, products + attention / 2


def milliseconds(o, call, warm, times):
    for _ in range(warm):
        call()
    if o.device == "cuda":
        torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(times):
        call()
    if o.device == "cuda":
        torch.cuda.synchronize()
    return 1e3 * (time.perf_counter() - start) / times


def choose_attention(o, lengths):
    """(name, form, {name: ms of one layer, forward and backward, or why not})"""
    if o.attention != "quickest":
        return o.attention, FORMS[o.attention](lengths, o), {}
    found, forms = {}, {}
    for name in ("flex", "varlen", "causal"):
        q, k, v = (torch.randn(o.tokens, heads, o.head_dim, device=o.device, dtype=torch.bfloat16, requires_grad=True)
                   for heads in (o.heads, o.kv_heads, o.kv_heads))  # fmt: skip
        try:
            forms[name] = FORMS[name](lengths, o)
            attend = torch.compile(forms[name])
            found[name] = milliseconds(o, lambda: attend(q, k, v).sum().backward(), 3, 10)
        except Exception as caught:  # a rival that cannot run is named, and another runs
            found[name] = str(caught)[:200]
    best = min((name for name in found if not isinstance(found[name], str)), key=found.get)
    return best, forms[best], found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    numbers = {"hidden": 512, "layers": 8, "heads": 8, "kv-heads": 4, "head-dim": 64, "intermediate": 1536, "vocabulary": 4096,
               "tokens": 65536, "shortest": 128, "longest": 2048, "steps": 20}  # fmt: skip
    for name, value in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--all-learned", action="store_true", help="else the documents' second halves")
    parser.add_argument("--qwen2", action="store_true", help="biases of q, k and v, no norms of heads")
    parser.add_argument("--attention", choices=["quickest", *FORMS], default="quickest")
    parser.add_argument("--weights", choices=["bf16", "fp32"], default="bf16")
    parser.add_argument("--mode", help="torch.compile's")
    parser.add_argument("--device", default="cuda")
    o = parser.parse_args()
    if o.device == "cpu":
        o.attention = "dense"
    torch.manual_seed(0)
    tokens, targets, positions, lengths = make_batch(o)
    name, attend, attention_ms = choose_attention(o, lengths)
    model = Model(o).to(o.device, torch.bfloat16 if o.weights == "bf16" else torch.float32)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    compiled = torch.compile(model, mode=o.mode)
    losses = []

    def step():
        with torch.autocast(o.device, torch.bfloat16, enabled=o.weights == "fp32"):
            loss = compiled(tokens, targets, positions, attend)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.detach())

    begin = time.perf_counter()
    step()
    compile_s = time.perf_counter() - begin
    ms = milliseconds(o, step, 3, o.steps)
    assert losses[-1] < losses[0], "the model does not learn its one batch"
    model_flops, causal_flops = flops(o, lengths)
    print(json.dumps({"rival": "torch.compile", "torch": torch.__version__, "attention": name, "attention_of_a_layer_ms": attention_ms,
                      "weights": o.weights, "documents": len(lengths), "tflop_per_step": model_flops / 1e12, "step_ms": ms,
                      "tokens_per_s": o.tokens / ms * 1e3, "mfu": model_flops / (ms / 1e3) / PEAK,
                      "mfu_causal": causal_flops / (ms / 1e3) / PEAK, "compile_s": compile_s,
                      "first_loss": losses[0].item(), "last_loss": losses[-1].item()}))  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
