"""What the sample kernels write in Triton's interpreter: of a process that runs this file, in Triton's own.

    sample_kernels.py FILE      saves it there
"""
import os
import pathlib
import sys

os.environ["TRITON_INTERPRET"] = "1"
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
import torch

from tests.agreement import run_in_interpreter
from tests.kernels import CASES


def run():
    """The outputs by name, by kernel, but of those that the interpreter gets wrong."""
    results = {}
    for name, case in CASES.items():
        if not case.no_interpreter:
            values = case.make_arguments()
            run_in_interpreter(case, values)
            results[name] = {o: values[o][0] if isinstance(values[o], tuple) else values[o] for o in case.outputs()}
    return results


if __name__ == "__main__":
    torch.save(run(), sys.argv[1])
