"""Cases of bench/training_kernel_variants.py: a step's ends and the optimizer; and all of them."""
import torch
import triton

from bench import training_variant_layers as layers
from bench.training_variant_case import REHEARSAL, SHAPES, Case, constants_of, form, text_of, unaligned  # noqa: F401
from kernels import training


class CrossEntropy(Case):
    changed, written = ("logits",), ("losses",)
    SCALE = 1e-3

    def __init__(self, shape):
        super().__init__(shape)
        self.rows, self.vocabulary = shape["chunk"], shape["vocabulary"]

    def tensors(self):
        rows = (self.rows,)
        return {"logits": ("b", (self.rows, self.vocabulary)), "targets": ("i", rows), "weights": ("f", rows), "losses": ("f", rows)}

    def fill(self, t, generator):
        device = t["targets"].device
        t["targets"].copy_(torch.randint(self.vocabulary, (self.rows,), generator=generator, device=device))
        t["targets"][1 :: 97] = -1
        t["weights"].copy_(1 + torch.arange(self.rows) % 3)

    def bytes(self):
        """Two reads and a write where a row does not fit a program's registers."""
        return (4 if self.vocabulary <= 16384 else 6) * self.rows * self.vocabulary

    def times(self):
        return -(-self.n // self.rows)

    def expected(self, t):
        learns = (t["targets"] >= 0).float()
        target = t["targets"].clamp(min=0).long()[:, None]
        logs = torch.log_softmax(t["logits"].float(), -1)
        losses = -logs.gather(1, target)[:, 0] * t["weights"] * learns
        d = logs.exp_().scatter_add_(1, target, -torch.ones_like(target, dtype=torch.float32))
        return {"losses": losses, "logits": d * (self.SCALE * t["weights"] * learns)[:, None]}

    def results(self, variant, t):
        return {"losses": t["losses"], "logits": t["logits"]}

    def plan(self, v, t):
        arguments = (t["logits"], t["targets"], t["weights"], t["losses"], self.vocabulary, self.vocabulary, self.SCALE)
        return unaligned(training.cross_entropy, "vocabulary"), (self.rows,), arguments, constants_of(v) | {"GRADIENT": True}

    def variants(self):
        if self.vocabulary <= 16384:
            yield form("today", BLOCK=2048, AHEAD=1, LAST_USE="")
            yield form("last use", BLOCK=2048, AHEAD=1, LAST_USE="evict_first")
            return
        yield form("today", 32, BLOCK=32768, AHEAD=1, LAST_USE="")
        yield form("last use", 32, BLOCK=32768, AHEAD=1, LAST_USE="evict_first")
        for block, warps, ahead in ((16384, 32, 2), (16384, 32, 3), (8192, 32, 4), (8192, 16, 3), (16384, 16, 3), (4096, 16, 4), (16384, 32, 4)):
            for last_use in ("", "evict_first"):
                yield form("ahead", warps, BLOCK=block, AHEAD=ahead, LAST_USE=last_use)


class AdamW(Case):
    changed, written = ("master", "first", "second"), ("weights",)

    def tensors(self):
        count = (2**21 if REHEARSAL else 2**25,)
        wide = ("f", count)
        return {"gradient": wide, "squared": ("f", (1,)), "master": wide, "first": wide, "second": wide, "weights": ("b", count)}

    def fill(self, t, generator):
        t["squared"].fill_(4.0)
        t["second"].abs_()

    def bytes(self):
        return 30 * self.tensors()["master"][1][0]

    def times(self):
        """As many as make the model's weights."""
        layer = self.hidden * ((2 * self.heads + 2 * self.kv) * layers.D + 3 * self.wide)
        return (self.s["layers"] * layer + self.hidden * self.s["vocabulary"]) / self.tensors()["master"][1][0]

    def expected(self, t):
        g = t["gradient"] * 0.5
        m = t["first"] + (g - t["first"]) * 0.1
        v = t["second"] * 0.95 + g * g * 0.05
        w = t["master"] * (1 - 0.001) - 1e-3 * m / (v.sqrt() + 1e-8)
        return {"master": w, "first": m, "second": v, "weights": w}

    def results(self, variant, t):
        return {name: t[name] for name in ("master", "first", "second", "weights")}

    def plan(self, v, t):
        count = t["master"].numel() if isinstance(t["master"], torch.Tensor) else self.tensors()["master"][1][0]
        arguments = (t["gradient"], t["squared"], t["master"], t["first"], t["second"], t["weights"], count, count, 0.001, 1e-3, 0.1, 0.95, 0.05,
                     1.0, 1e-8, 1.0)  # fmt: skip
        return training.adamw, (triton.cdiv(count, v["BLOCK"]),), arguments, constants_of(v)

    def variants(self):
        yield form("today", BLOCK=1024)
        for block, warps in ((512, 4), (1024, 8), (512, 2), (2048, 8), (256, 2), (2048, 4)):
            yield form("today's, other tile", warps, BLOCK=block)


CASES = {"cross_entropy": CrossEntropy, "norm_backward": layers.NormBackward, "rope_heads_backward": layers.RopeHeadsBackward,
         "rope_heads": layers.RopeHeads, "swiglu_backward": layers.SwigluBackward, "add_norm": layers.AddNorm, "swiglu": layers.Swiglu,
         "adamw": AdamW}  # fmt: skip
if REHEARSAL:
    del CASES["adamw"]  # the interpreter does not read a scalar as this kernel does
