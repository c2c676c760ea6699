#!/bin/bash
# Whether `sft` with products by trial ends with the same bits when it is killed: one run in one piece; another that goes on from a copy
# of its first checkpoint, is killed with kill -9 after a later one, and goes on again. Compares every loss behind the first checkpoint and
# the last checkpoint's files; exits with 0 when all are the same, and something was chosen. Two runs from the start would each choose
# for themselves: hence the copy. Standard error says what was chosen.
#   bench/sft_choices_resume.sh [FOLDER]     TRITOGEN=build/release/tritogen PYTHON=.venv/bin/python DEVICE=cuda DTYPE=bf16 STEPS=60
#                                            BATCH_TOKENS=32768 HIDDEN=384 LAYERS=12 DATA=examples/data_small
set -euo pipefail
cd "$(dirname "$0")/.."
TRITOGEN=${TRITOGEN:-build/release/tritogen} PYTHON=${PYTHON:-.venv/bin/python} STEPS=${STEPS:-60}
folder=${1:-$(mktemp -d)}
mkdir -p "$folder"
[ ! -e "$folder/whole" ] && [ ! -e "$folder/parts" ] || { echo "$folder holds runs already" >&2; exit 2; }
cat > "$folder/sft.toml" <<END
[model.new]
vocabulary = 512
context = 4096
hidden = ${HIDDEN:-384}
layers = ${LAYERS:-12}
heads = 6
kv_heads = 2
head_dim = 64
intermediate = 1024
[data]
data = ["${DATA:-examples/data_small}"]
longest = 2048
[train]
batch_tokens = ${BATCH_TOKENS:-32768}
steps = $STEPS
warmup = 4
dtype = "${DTYPE:-bf16}"
choose_products = true
[eval]
batches = 0
[save]
every = 10
keep = 1000
[log]
every = 1
END
sft() { "$TRITOGEN" sft --device "${DEVICE:-cuda}" --config "$folder/sft.toml" --out "$folder/$1" > "$folder/$1.out"; }
sft whole
mkdir -p "$folder/parts/checkpoints"
cp -r "$folder/whole/start" "$folder/parts/start"
cp -r "$folder/whole/checkpoints/step-00000010" "$folder/parts/checkpoints/"
"$TRITOGEN" sft --device "${DEVICE:-cuda}" --config "$folder/sft.toml" --out "$folder/parts" > "$folder/killed.out" &
run=$!
while [ ! -e "$folder/parts/checkpoints/step-00000020" ]; do
  kill -0 $run 2> /dev/null || { echo "it ended before it could be killed" >&2; exit 2; }
  sleep 0.01
done
kill -9 $run
wait $run || true
sft parts
"$PYTHON" - "$folder" "$STEPS" "${DEVICE:-cuda}" <<'END'
import json, pathlib, sys
folder, steps = pathlib.Path(sys.argv[1]), int(sys.argv[2])
whole, parts = [{line["step"]: line["loss"] for line in map(json.loads, (folder / name / "log.jsonl").read_text().splitlines())
                 if "loss" in line} for name in ("whole", "parts")]  # fmt: skip
assert sorted(parts) == list(range(11, steps + 1)), sorted(parts)
unlike = [step for step in parts if parts[step] != whole[step]]
last = [folder / name / f"checkpoints/step-{steps:08}" for name in ("whole", "parts")]
same = {name: len({(path / name).read_bytes() for path in last}) == 1 for name in ("model.safetensors", "optimizer.safetensors")}
products = [json.loads((path / "training.json").read_text())["products"] for path in last]
quicker = sum(choice != "aten" for choice in products[0].values())
print(json.dumps({"losses": len(parts), "unlike": unlike, "same_files": same, "products": len(products[0]), "quicker": quicker,
                  "same_products": products[0] == products[1], "folder": str(folder)}))  # fmt: skip
chose = len(products[0]) > 0 or sys.argv[3] == "cpu"  # where nothing is chosen
sys.exit(bool(unlike) or not all(same.values()) or products[0] != products[1] or not chose)
END
