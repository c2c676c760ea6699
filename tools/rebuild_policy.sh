#!/usr/bin/env bash
# Rebuilds models/embedded: data, training, scores. For a machine with a GPU and many cores; some 290,000 records take 64 cores
# ten minutes, 16 cores forty. Each step is skipped when it is done, and may be killed and run again.
set -euo pipefail
cd "$(dirname "$0")/.."

build() {  # SET CONFIGURATION SEED SHARDS DEVICE: the same records wherever it runs
  ./tritogen data build --config "configs/$2.toml" --seed "$3" --out "sets/$1" --shards "0:$4" --device "$5"
}

build common_1 data 20261122 81 cpu
build common_2 data 20270000 81 cpu
build common_3 data 20261124 19 cpu
build common_4 data 20270002 19 cpu
build wide_1 data_wide 20261123 75 cpu
build wide_2 data_wide 20280000 74 cpu
build wide_3 data_wide 20261125 18 cpu
build wide_4 data_wide 20280002 19 cpu
build large_1 data_large 20261124 25 cuda
build large_2 data_large 20290000 28 cuda
build large_3 data_large 20261126 9 cuda
build large_4 data_large 20290002 4 cuda

# On several GPUs: torchrun --nproc-per-node N --no-python ./tritogen sft … (the loss is the same).
./tritogen sft --config configs/sft_embedded.toml

for split in held-out pairs shapes; do
  [ "$split" = held-out ] && levels=1,2,3,4,5,8 || levels=2
  [ "$split" = shapes ] && levels=1,2
  ./tritogen eval --model runs/embedded/final --split "$split" --level "$levels" --count 200 -n 8 --out "runs/embedded/eval/$split" \
    --html "runs/embedded/eval/$split.html"
done
echo "the new model is runs/embedded/final; copy it to models/embedded when it is better"
