#!/bin/bash
# A training step in its alternatives, one process after the other, ROUNDS times in turn, so that each meets the card as the others do:
# how many tokens' logits are held at once, and whether products are ATen's or chosen by trial ("8192+choose"). Standard output: one JSON
# array, an object a run (alternative, step_ms, mfu, choices; or failed, why); standard error says what runs. No run is longer than LIMIT.
#   bench/train_choices.sh [0.5b|384x12|tiny]     BENCH=build/release/bench/train_pass_bench PYTHON=.venv/bin/python SECONDS_EACH=1.5
#                                                 ROUNDS=2 ALTERNATIVES="8192 16384 8192+choose" DEVICE=cuda LIMIT=40
set -uo pipefail
cd "$(dirname "$0")/.."
BENCH=${BENCH:-build/release/bench/train_pass_bench} PYTHON=${PYTHON:-.venv/bin/python}
source bench/train_shapes.sh
declare -A usual=([0.5b]="8192 16384 8192+choose" [384x12]="16384 8192 65536 16384+choose" [tiny]="32 96 32+choose")
name=${1:-0.5b}
read -ra shape <<< "${shapes[$name]:?no such shape}"
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
for _ in $(seq "${ROUNDS:-2}"); do
  for alternative in ${ALTERNATIVES:-${usual[$name]:?give ALTERNATIVES for this shape}}; do
    flags=(--logit-tokens "${alternative%+*}")
    [[ $alternative == *+choose ]] && flags+=(--choose)
    echo "$name $alternative" >&2
    timeout -k 5 "${LIMIT:-40}" "$BENCH" --device "${DEVICE:-cuda}" --python "$PYTHON" --no-check --all-learned --step-only \
      --seconds "${SECONDS_EACH:-1.5}" "${shape[@]}" "${flags[@]}" > "$results/out" 2> "$results/why"
    code=$?
    [ $code -eq 0 ] || tail -c 400 "$results/why" > "$results/out"
    echo "$alternative $code $(tr '\n' ' ' < "$results/out")" >> "$results/rows"
  done
done
"$PYTHON" - "$results/rows" <<'END'
import json, sys
rows = []
for line in open(sys.argv[1]):
    alternative, code, text = line.split(" ", 2)
    row = json.loads(text)["speed"] if code == "0" else {"failed": int(code), "why": text.strip()}
    rows.append({"alternative": alternative} | row)
print(json.dumps(rows, indent=1))
END
