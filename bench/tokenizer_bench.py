"""Rates of build/release/bench/tokenizer_bench and of Hugging Face's tokenizers (one thread each, seconds of CPU) on the same texts.

    HF/bin/python bench/tokenizer_bench.py BINARY [SIZE] [FOLDER...]

HF: an environment with `tokenizers`. Texts: the .md .py .cc .h files of the folders, and a text of many scripts. SIZE: tokens of the
vocabulary that is trained on them by both.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
from tokenizers import Tokenizer, trainers  # noqa: E402

BINARY, SIZE, FOLDERS = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 16000, sys.argv[3:] or ["docs", "src", "worker"]


def documents(text):
    return [part + "\n\n\n" for part in text.split("\n\n\n")[:-1]] + [text.split("\n\n\n")[-1]]


def hf_encode(path, text):
    start = time.process_time()
    tokenizer = Tokenizer.from_file(path)
    load = time.process_time() - start
    best, parts = 1e9, documents(text)
    for _ in range(3):
        start = time.process_time()
        ids = [i for part in parts for i in tokenizer.encode(part).ids]
        best = min(best, time.process_time() - start)
    total = 0
    for i in ids:
        total = (total * 1000003 + i) & 0xFFFFFFFF
    return {"load_s": load, "best_s": best, "tokens": len(ids), "sum": total}


def hf_train(path, text):
    tokenizer = Tokenizer.from_file(path)
    trainer = trainers.BpeTrainer(vocab_size=SIZE, special_tokens=["<|endoftext|>"], show_progress=False,
                                  initial_alphabet=__import__("tokenizers").pre_tokenizers.ByteLevel.alphabet())
    start = time.process_time()
    tokenizer.train_from_iterator(documents(text), trainer)
    return time.process_time() - start, json.loads(tokenizer.to_str())["model"]["merges"]


def main():
    files = sorted(f for folder in FOLDERS for f in pathlib.Path(folder).rglob("*") if f.suffix in (".md", ".py", ".cc", ".h"))
    code = "".join(f.read_text(errors="replace").replace("\r\n", "\n") + "\n\n\n" for f in files)[:16_000_000]
    fragments = json.loads(pathlib.Path("tests/golden/tokenizers/fragments.json").read_text())
    words = [f for f in fragments if any(ord(c) > 127 and c.isalpha() for c in f)]
    scripts = " ".join(words[(i * i + 7 * i) % len(words)] for i in range(200_000))
    with tempfile.TemporaryDirectory() as folder:
        texts = {"code and English": code, "many scripts": scripts}
        for name, text in texts.items():
            pathlib.Path(folder, name).write_text(text)
        tokenizer = f"{folder}/tokenizer.json"
        ours = subprocess.run([BINARY, "train", f"{folder}/code and English", str(SIZE), tokenizer], check=True, capture_output=True)
        theirs, merges = hf_train(tokenizer, code)
        same = merges == json.loads(pathlib.Path(tokenizer).read_text())["model"]["merges"]
        print(f"training on {len(code.encode()) / 1e6:.1f} MB to {SIZE}: ours {float(ours.stdout):.2f} s, tokenizers {theirs:.2f} s; "
              f"{len(merges)} merges, {'equal' if same else 'DIFFERENT'}")
        for name, text in texts.items():
            size = len(text.encode()) / 1e6
            a = json.loads(subprocess.run([BINARY, "encode", tokenizer, f"{folder}/{name}"], check=True, capture_output=True).stdout)
            b = hf_encode(tokenizer, text)
            same = (a["tokens"], a["sum"]) == (b["tokens"], b["sum"])
            print(f"{name}: {size:.1f} MB, {a['tokens']} tokens, ids {'equal' if same else 'DIFFERENT'}; ours {size / a['best_s']:.1f} MB/s "
                  f"(first pass {size / a['first_s']:.1f}), tokenizers {size / b['best_s']:.1f} MB/s: {b['best_s'] / a['best_s']:.1f}x")


main()
