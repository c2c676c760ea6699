"""Cases of bench/training_kernel_variants.py: what a layer is made of."""
import torch
import triton

from bench.training_variant_case import Case, constants_of, form
from kernels import decoder, training

LONGEST = 2048
D = 64
NORM_PARTS, HEAD_PARTS = 528, 660  # programs that share a sum (src/train/fused_pass.cc)
EPS = 1e-6


def rms_scale(v):
    return torch.rsqrt((v * v).mean(-1, keepdim=True) + EPS)


class AddNorm(Case):
    written = ("total", "out")

    def tensors(self):
        tile = ("b", (self.n, self.hidden))
        return {"x": tile, "delta": tile, "weight": ("b", (self.hidden,)), "total": tile, "out": tile}

    def bytes(self):
        return 8 * self.n * self.hidden

    def times(self):
        return 2 * self.s["layers"]

    def expected(self, t):
        total = (t["x"].float() + t["delta"].float()).to(t["x"].dtype).float()
        return {"total": total, "out": total * rms_scale(total) * t["weight"].float()}

    def results(self, variant, t):
        return {"total": t["total"], "out": t["out"]}

    def plan(self, variant, t):
        arguments = (t["x"], t["delta"], t["weight"], t["total"], t["out"], self.n, self.hidden, EPS)
        return training.add_norm, (triton.cdiv(self.n, variant["ROWS"]),), arguments, constants_of(variant)

    def variants(self):
        yield form("today", ROWS=2048 // self.width, BLOCK=self.width)
        for rows, warps in ((1, 1), (1, 2), (2, 2), (2, 4), (4, 4), (4, 8), (8, 8), (8, 4)):
            if (rows, warps) != (2048 // self.width, 4):
                yield form("today's, other tile", warps, ROWS=rows, BLOCK=self.width)


class NormBackward(Case):
    changed, written = ("d_x",), ("parts",)

    def tensors(self):
        tile = ("b", (self.n, self.hidden))
        return {"x": tile, "weight": ("b", (self.hidden,)), "d_out": tile, "d_x": tile, "parts": ("f", (4096, self.hidden))}

    def bytes(self):
        return 8 * self.n * self.hidden

    def times(self):
        return 2 * self.s["layers"]

    def expected(self, t):
        v, d = t["x"].float(), t["d_out"].float()
        scale = rms_scale(v)
        v = v * scale
        g = d * t["weight"].float()
        return {"d_x": t["d_x"].float() + scale * (g - v * (g * v).mean(-1, keepdim=True)), "d_weight": (d * v).sum(0)}

    def programs(self, variant):
        return min(variant["programs"], triton.cdiv(self.n, variant["ROWS"]))

    def results(self, variant, t):
        return {"d_x": t["d_x"], "d_weight": t["parts"][: self.programs(variant)].sum(0)}

    def plan(self, variant, t):
        arguments = (t["x"], t["weight"], t["d_out"], t["d_x"], t["parts"], self.n, self.hidden, EPS)
        return training.norm_backward, (self.programs(variant),), arguments, constants_of(variant) | {"ADD": True}

    def variants(self):
        today = 2048 // self.width
        yield form("today", programs=NORM_PARTS, ROWS=today, BLOCK=self.width, AHEAD=3)
        for ahead, programs in ((1, 660), (2, 528), (2, 792), (3, 792), (4, 528), (3, 660)):
            yield form("today's, other programs", programs=programs, ROWS=today, BLOCK=self.width, AHEAD=ahead)


class RopeHeads(Case):
    written = ("out",)

    def tensors(self):
        qkv = ("b", (self.n, self.both + self.kv, D))
        return {"qkv": qkv, "q_norm": ("b", (D,)), "k_norm": ("b", (D,)), "rope": ("f", (LONGEST, 2, D // 2)), "positions": ("i", (self.n,)),
                "out": ("b", (self.n, self.both, D))}  # fmt: skip

    def fill(self, t, generator):
        t["positions"].copy_(torch.arange(self.n) % 1111)
        angle = torch.arange(LONGEST)[:, None] * 10000.0 ** (-torch.arange(D // 2) / (D // 2))[None, :]
        t["rope"].copy_(torch.stack([angle.cos(), angle.sin()], 1))

    def bytes(self):
        return 4 * self.n * self.both * D

    def parts_of(self, t):
        cos, sin = t["rope"][t["positions"].long()].unsqueeze(2).unbind(1)
        weight = torch.cat([t["q_norm"].float().expand(self.heads, D), t["k_norm"].float().expand(self.kv, D)])
        return cos, sin, weight

    def expected(self, t):
        cos, sin, weight = self.parts_of(t)
        v = t["qkv"][:, : self.both].float()
        if self.s["norm"]:
            v = v * rms_scale(v) * weight
        x, y = v[..., : D // 2], v[..., D // 2 :]
        return {"out": torch.cat([x * cos - y * sin, y * cos + x * sin], -1)}

    def results(self, variant, t):
        return {"out": t["out"]}

    def tiles(self, v):
        return triton.cdiv(self.n * self.both, v["ROWS"])

    def numbers(self):
        return self.n * self.both, self.heads, self.kv, EPS

    def constants(self, v):
        return constants_of(v) | {"NORM": self.s["norm"], "D": D}

    def plan(self, v, t):
        arguments = (t["qkv"], t["q_norm"], t["k_norm"], t["rope"], t["positions"], t["out"], *self.numbers())
        return training.rope_heads, (self.tiles(v),), arguments, self.constants(v)

    def variants(self):
        yield form("today", ROWS=2048 // D)
        for rows, warps in ((16, 2), (64, 8), (8, 1), (64, 4), (128, 4), (128, 8)):
            yield form("today's, other tile", warps, ROWS=rows)


class RopeHeadsBackward(RopeHeads):
    written = ("d_qkv", "parts")

    def tensors(self):
        all_but_out = {name: tensor for name, tensor in super().tensors().items() if name != "out"}
        return all_but_out | {"d_out": ("b", (self.n, self.both, D)), "d_qkv": ("b", (self.n, self.both + self.kv, D)),
                              "parts": ("f", (2 * 4096, D))}  # fmt: skip

    def bytes(self):
        return (6 if self.s["norm"] else 4) * self.n * self.both * D

    def expected(self, t):
        cos, sin, weight = self.parts_of(t)
        first, second = t["d_out"].float().chunk(2, -1)
        g = torch.cat([first * cos + second * sin, second * cos - first * sin], -1)
        if not self.s["norm"]:
            return {"d_qkv": g}
        v = t["qkv"][:, : self.both].float()
        scale = rms_scale(v)
        v = v * scale
        along = (g * v).sum(0)
        g = g * weight
        return {"d_qkv": scale * (g - v * (g * v).mean(-1, keepdim=True)), "d_q_norm": along[: self.heads].sum(0),
                "d_k_norm": along[self.heads :].sum(0)}  # fmt: skip

    def programs(self, v):
        return min(v["programs"], self.tiles(v))

    def results(self, v, t):
        found = {"d_qkv": t["d_qkv"][:, : self.both]}
        if self.s["norm"]:
            parts = t["parts"][: 2 * self.programs(v)].reshape(2, -1, D).sum(1)
            found |= {"d_q_norm": parts[0], "d_k_norm": parts[1]}
        return found

    def plan(self, v, t):
        arguments = (t["qkv"], t["q_norm"], t["k_norm"], t["rope"], t["positions"], t["d_out"], t["d_qkv"], t["parts"], *self.numbers())
        return training.rope_heads_backward, (self.programs(v),), arguments, self.constants(v)

    def variants(self):
        yield form("today", programs=HEAD_PARTS, ROWS=2048 // D)
        for rows, warps, programs in ((16, 2, 1320), (32, 4, 528), (32, 4, 1056), (64, 8, 330), (32, 2, 1056), (16, 4, 660), (8, 1, 2640),
                                      (32, 8, 660), (32, 4, 2640), (32, 4, 4096)):  # fmt: skip
            yield form("today's, other tile", warps, programs=programs, ROWS=rows)


class Swiglu(Case):
    written = ("out",)

    def tensors(self):
        return {"gate_up": ("b", (self.n, 2 * self.wide)), "out": ("b", (self.n, self.wide))}

    def bytes(self):
        return 6 * self.n * self.wide

    def expected(self, t):
        gate, up = t["gate_up"].float().chunk(2, -1)
        return {"out": torch.nn.functional.silu(gate) * up}

    def results(self, variant, t):
        return {"out": t["out"]}

    def plan(self, v, t):
        return decoder.swiglu, (self.n, triton.cdiv(self.wide, v["BLOCK"])), (t["gate_up"], t["out"], self.wide), constants_of(v)

    def variants(self):
        yield form("today", BLOCK=1024)
        for block, warps in ((512, 2), (256, 1), (2048, 8), (512, 4), (1024, 8)):
            yield form("today's, other tile", warps, BLOCK=block)


class SwigluBackward(Swiglu):
    changed, written = ("gate_up",), ()

    def tensors(self):
        return {"gate_up": ("b", (self.n, 2 * self.wide)), "d_hidden": ("b", (self.n, self.wide))}

    def bytes(self):
        return 10 * self.n * self.wide

    def expected(self, t):
        gate, up = t["gate_up"].float().chunk(2, -1)
        d, sigmoid = t["d_hidden"].float(), torch.sigmoid(gate)
        return {"gate_up": torch.cat([d * up * (sigmoid + gate * sigmoid * (1 - sigmoid)), d * gate * sigmoid], -1)}

    def results(self, variant, t):
        return {"gate_up": t["gate_up"]}

    def plan(self, v, t):
        grid = self.n, triton.cdiv(self.wide, v["BLOCK"])
        return training.swiglu_backward, grid, (t["gate_up"], t["d_hidden"], self.wide), constants_of(v)

    def variants(self):
        yield form("today", BLOCK=1024)
        for block, warps in ((512, 2), (256, 1), (2048, 8), (512, 4), (1024, 2), (1024, 8)):
            yield form("today's, other tile", warps, BLOCK=block)
