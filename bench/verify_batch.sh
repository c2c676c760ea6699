#!/usr/bin/env bash
# Candidates per second of `verify --batch`, and whether every verdict is the right one.
#   bench/verify_batch.sh [COUNT] [SEED]      (default: 500 candidates, seed 1)
set -euo pipefail
cd "$(dirname "$0")/.."
count="${1:-500}" seed="${2:-1}"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 tools/make_candidates.py --count "$count" --seed "$seed" > "$work/batch.jsonl"
./tritogen setup
start="$(date +%s.%N)"
./tritogen verify --batch "$work/batch.jsonl" --out "$work/verdicts.jsonl" --seed 7 --no-cache
end="$(date +%s.%N)"
python3 tools/check_verdicts.py "$work/batch.jsonl" "$work/verdicts.jsonl" --seconds "$(python3 -c "print($end - $start)")"
