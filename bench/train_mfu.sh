#!/bin/bash
# MFU of training's fused pass and of plain PyTorch with torch.compile, one after the other on one GPU, same documents, same count of
# FLOPs. Standard output: one JSON array, an object a shape and program (step_ms, tokens_per_s, mfu; of the fused pass host_ms, too:
# where that is near step_ms, launches are what a step waits for and CUDA graphs would pay).
# The second half of each document is learned; with LEARNED=all every token is, and the FLOPs counted are all that both compute.
#   bench/train_mfu.sh [384x12 512x6 0.5b …]      BENCH=build/release/bench/train_pass_bench PYTHON=.venv/bin/python SECONDS_EACH=1
set -euo pipefail
cd "$(dirname "$0")/.."
BENCH=${BENCH:-build/release/bench/train_pass_bench} PYTHON=${PYTHON:-.venv/bin/python}
declare -A shapes=(
  [384x10]="--hidden 384 --layers 10 --heads 6 --kv-heads 2 --intermediate 1024 --vocabulary 2048 --tokens 65536"
  [384x12]="--hidden 384 --layers 12 --heads 6 --kv-heads 2 --intermediate 1024 --vocabulary 2048 --tokens 65536"
  [384x10-32k]="--hidden 384 --layers 10 --heads 6 --kv-heads 2 --intermediate 1024 --vocabulary 2048 --tokens 32768"
  [512x6]="--hidden 512 --layers 6 --heads 8 --kv-heads 2 --intermediate 1408 --vocabulary 2048 --tokens 65536"
  [0.5b]="--qwen2 --hidden 896 --layers 24 --heads 14 --kv-heads 2 --intermediate 4864 --vocabulary 151936 --tokens 32768"
  [tiny]="--hidden 64 --layers 1 --heads 2 --kv-heads 1 --head-dim 32 --intermediate 96 --vocabulary 128 --tokens 96 --shortest 5 --longest 40"
)
device=${DEVICE:-cuda}
[ $# -gt 0 ] || set -- 384x12 512x6 0.5b
shared=(${LEARNED:+--all-learned})
results=$(mktemp)
trap 'rm -f "$results"' EXIT
for name in "$@"; do
  read -ra shape <<< "${shapes[$name]:?no such shape}"
  "$BENCH" --device "$device" --python "$PYTHON" --no-check --seconds "${SECONDS_EACH:-1}" "${shape[@]}" "${shared[@]}" | sed "s/^/$name /" >> "$results"
  "$PYTHON" bench/torch_compile_train.py --device "$device" "${shape[@]}" "${shared[@]}" | sed "s/^/$name /" >> "$results"
done
"$PYTHON" - "$results" <<'END'
import json, sys
rows = []
for line in open(sys.argv[1]):
    shape, text = line.split(" ", 1)
    row = json.loads(text)
    rows.append({"shape": shape} | row.get("speed", row))
print(json.dumps(rows, indent=1))
END
