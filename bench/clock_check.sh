#!/usr/bin/env bash
# A/A test of the clock on 70 programs, about 50 of them of 20 us and more on an H200, and whether 5% more work is seen on 22 pairs; needs a GPU.
#   bench/clock_check.sh OUT
set -euo pipefail
cd "$(dirname "$0")/.."
out="${1:?usage: bench/clock_check.sh OUT}"
mkdir -p "$out"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 bench/clock_check.py write "$work"
options=(--device cuda --no-cache --seed 7 --samples 100 --timing-seconds "${TIMING_SECONDS:-0.3}")
batch=(python3 bench/timed_batch.py --cores 2)
"${batch[@]}" "$work/aa.jsonl" "$work/aa_verdicts.jsonl" "${options[@]}" --against-itself
"${batch[@]}" "$work/pairs.jsonl" "$work/pairs_verdicts.jsonl" "${options[@]}"
cp "$work"/*_verdicts.jsonl "$out"
python3 bench/clock_check.py judge "$work" "$out"
