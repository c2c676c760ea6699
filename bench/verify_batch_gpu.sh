#!/usr/bin/env bash
# Candidates per second of `verify --batch` on one GPU, whether every verdict is right, and where the time goes.
#   bench/verify_batch_gpu.sh OUT [COUNT] [19_ReLU.py]
# 500 distinct candidates of 1 to 16 million elements, each with a reference of its own, with an empty kernel cache, then with a
# full one; the same with eight candidates of each reference, as reinforcement learning has them; with KernelBench's
# level1/19_ReLU.py also a warm batch of that task, one judge. Writes OUT/batch_gpu.json, OUT/stages.md and OUT/stages.svg.
set -euo pipefail
cd "$(dirname "$0")/.."
out="${1:?usage: bench/verify_batch_gpu.sh OUT [COUNT] [19_ReLU.py]}" count="${2:-500}" task="${3:-}"
mkdir -p "$out"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
options=(--device cuda --no-cache --seed 7)
sizes=(--count "$count" --elements 1000000 16000000)
python3 tools/make_candidates.py "${sizes[@]}" > "$work/alone.jsonl"
python3 tools/make_candidates.py "${sizes[@]}" --group 8 --seed 6 > "$work/group.jsonl"

for batch in alone group; do
  export TRITOGEN_CACHE="$work/cache_$batch"
  for pass in cold warm; do
    name="${batch}_$pass"
    python3 bench/timed_batch.py "$work/$batch.jsonl" "$out/$name.jsonl" "${options[@]}" > "$work/$name.json"
    cat "$work/$name.json"
    python3 tools/check_verdicts.py "$work/$batch.jsonl" "$out/$name.jsonl" || true
  done
done
python3 tools/stage_table.py "$out"/{alone,group}_{cold,warm}.jsonl --names "own references, empty cache" "own references, full cache" \
  "groups of 8, empty cache" "groups of 8, full cache" --out "$out/stages.svg" > "$out/stages.md" && cat "$out/stages.md"

# The difference of twelve candidates and six is what six more cost when all is warm.
if [ -n "$task" ]; then
  for n in 6 12; do
    python3 bench/task19.py "$task" "$n" > "$work/task19.jsonl"
    python3 bench/timed_batch.py --cores 1 "$work/task19.jsonl" "$out/task19_$n.jsonl" "${options[@]}" --samples 100 \
      > "$work/task19" && mv "$work/task19" "$work/task19_$n.json"
  done
fi
python3 - "$work" "$out/batch_gpu.json" << 'PY'
import json, pathlib, sys
work = pathlib.Path(sys.argv[1])
report = {path.stem: json.loads(path.read_text()) for path in sorted(work.glob("*.json"))}
if "task19_12" in report:
    more = report["task19_12"]["seconds"] - report["task19_6"]["seconds"]
    report["task19_seconds_a_candidate"] = round(more / 6, 3)
pathlib.Path(sys.argv[2]).write_text(json.dumps(report, indent=1) + "\n")
for name, value in report.items():
    print(name, f"{value['rate']} candidates/s, {len(value['wrong'])} wrong verdicts" if isinstance(value, dict) else value)
PY
