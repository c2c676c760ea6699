#!/bin/bash
# MFU of training's fused pass and of plain PyTorch with torch.compile, one after the other on one GPU, same documents, same count of
# FLOPs. Standard output: one JSON array, an object a shape and program (step_ms, tokens_per_s, mfu by the formula of src/train/flops.h,
# mfu_causal without the pairs that a causal mask leaves out; of the fused pass host_ms, too: where that is near step_ms, launches are what
# a step waits for and CUDA graphs would pay).
# The second half of each document is learned; with LEARNED=all every token is, and the FLOPs counted are all that both compute.
# CHOOSE=1: our products by trial (sft's train.choose_products). DOCUMENTS="1024 1024": the shortest and the longest instead of 128 and 2048.
#   bench/train_mfu.sh [384x12 512x6 0.5b …]      BENCH=build/release/bench/train_pass_bench PYTHON=.venv/bin/python SECONDS_EACH=1
set -euo pipefail
cd "$(dirname "$0")/.."
BENCH=${BENCH:-build/release/bench/train_pass_bench} PYTHON=${PYTHON:-.venv/bin/python}
source bench/train_shapes.sh
device=${DEVICE:-cuda}
[ $# -gt 0 ] || set -- 384x12 512x6 0.5b
read -ra lengths <<< "${DOCUMENTS:-}"
shared=(${DOCUMENTS:+--shortest "${lengths[0]}" --longest "${lengths[1]}"} ${LEARNED:+--all-learned})
results=$(mktemp)
trap 'rm -f "$results"' EXIT
for name in "$@"; do
  read -ra shape <<< "${shapes[$name]:?no such shape}"
  "$BENCH" --device "$device" --python "$PYTHON" --no-check --seconds "${SECONDS_EACH:-1}" ${CHOOSE:+--choose} "${shape[@]}" "${shared[@]}" | sed "s/^/$name /" >> "$results"
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
