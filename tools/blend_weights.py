"""Blends the weights of two model folders of one shape, of which one was trained on from the other: share * A + (1 - share) * B.

What was learned on the way to A stays, and some of what was forgotten comes back (Wortsman et al., 2022, "Robust fine-tuning of zero-shot
models", eq. 1).

    python tools/blend_weights.py A B --share 0.75 --out DIR
"""

import argparse
import pathlib
import shutil
import sys

import torch
from safetensors.torch import load_file, save_file


def blend(a: torch.Tensor, b: torch.Tensor, share: float) -> torch.Tensor:
    """In fp32, rounded once to the dtype of `a`."""
    return (share * a.float() + (1 - share) * b.float()).to(a.dtype)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("a", type=pathlib.Path)
    parser.add_argument("b", type=pathlib.Path)
    parser.add_argument("--share", type=float, required=True, help="of A, from 0 to 1")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="a folder that is not there yet")
    options = parser.parse_args()
    if not 0 <= options.share <= 1:
        sys.exit(f"--share {options.share}: not from 0 to 1")
    shards = sorted(path.name for path in options.a.glob("*.safetensors"))
    if not shards or shards != sorted(path.name for path in options.b.glob("*.safetensors")):
        sys.exit(f"{options.a} and {options.b} do not have the same shards of weights")
    pairs = {shard: (load_file(options.a / shard), load_file(options.b / shard)) for shard in shards}
    for shard, (a, b) in pairs.items():
        if {name: x.shape for name, x in a.items()} != {name: x.shape for name, x in b.items()}:
            sys.exit(f"{shard}: {options.a} and {options.b} do not have the same tensors")
    if options.out.exists():
        sys.exit(f"{options.out} is there already")
    shutil.copytree(options.a, options.out, ignore=shutil.ignore_patterns("*.safetensors"))
    for shard, (a, b) in pairs.items():
        save_file({name: blend(x, b[name], options.share) for name, x in a.items()}, options.out / shard, metadata={"format": "pt"})


if __name__ == "__main__":
    main()
