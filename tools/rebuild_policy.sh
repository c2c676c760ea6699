#!/usr/bin/env bash
# Rebuilds models/embedded: data, training, scores. For a machine with a GPU and many cores; 32 cores made the data in a
# quarter of an hour when there were no modules among it, two H200 learned as long. Each step is skipped when it is done,
# and may be killed and run again.
#   tools/rebuild_policy.sh               # runs/embedded_norms/final
#   tools/rebuild_policy.sh --rehearse    # every step, small, on CPUs, in minutes: runs/rehearsal/embedded_norms/final
set -euo pipefail
cd "$(dirname "$0")/.."

sets=sets runs=runs wrong_tasks=4000 own_tasks=2000 held_out_tasks=100 samples=8 programs=200 more_programs=60
main=configs/data.toml large=configs/data_large.toml long=configs/data_long.toml hybrid=configs/data_hybrid.toml
modules=configs/data_modules.toml modules_long=configs/data_modules_long.toml
start=configs/sft_embedded_start.toml rest=configs/sft_embedded.toml last=configs/sft_embedded_last.toml
own_first=configs/sft_embedded_own_first.toml own=configs/sft_embedded_own.toml norms=configs/sft_embedded_norms.toml
of_norms=configs/data_norms.toml of_volumes=configs/data_volumes.toml

# The same steps, with little of everything: a small set eight times, a tiny model, a minute for both halves.
rehearse() {
  sets=runs/rehearsal/sets runs=runs/rehearsal wrong_tasks=2 own_tasks=2 held_out_tasks=1 samples=1 programs=1 more_programs=1
  main=configs/data_small.toml large=configs/data_small.toml long=configs/data_small.toml hybrid=configs/data_small.toml
  modules=configs/data_small.toml modules_long=configs/data_small.toml
  start=$runs/start.toml rest=$runs/rest.toml last=$runs/last.toml own_first=$runs/own_first.toml own=$runs/own.toml norms=$runs/norms.toml
  of_norms=configs/data_small.toml of_volumes=configs/data_small.toml
  own_proposer=policy  # the tiny model has no right answers
  mkdir -p "$runs"
  local little='[train]
batch_tokens = 4096
steps = 20
dtype = "fp32"
[eval]
batches = 1'
  cat > "$start" <<TOML
like = "../../configs/sft_embedded_start.toml"
out = "$runs/embedded_start"
[model.new]
vocabulary = 512
hidden = 64
layers = 2
heads = 2
kv_heads = 1
head_dim = 32
intermediate = 128
[data]
data = ["$sets/levels_1_to_3"]
most = 100
wrong = ["$sets/wrong.jsonl"]
$little
TOML
  goes_on() {  # FILE CONFIGURATION OUT FROM
    cat > "$1" <<TOML
like = "../../configs/$2"
out = "$3"
[model]
from = "$4"
[data]
data = ["$sets/levels_1_to_3", "$sets/large_tensors", "$sets/long_dimensions", "$sets/hybrid", "$sets/modules", "$sets/modules_long"]
wrong = ["$sets/wrong.jsonl"]
$little
TOML
  }
  goes_on "$rest" sft_embedded.toml "$runs/embedded" "$runs/embedded_start/final"
  goes_on "$last" sft_embedded_last.toml "$runs/embedded_last" "$runs/embedded/final"
  learns_own() {  # FILE OUT FROM DATA…
    cat > "$1" <<TOML
like = "../../configs/sft_embedded_own.toml"
out = "$2"
[model]
from = "$runs/$3/final"
[data]
data = [$4]
known_share = 1.0
[train]
batch_tokens = 4096
dtype = "fp32"
[eval]
batches = 1
TOML
  }
  learns_own "$own_first" "$runs/embedded_own_first" embedded_last "\"$sets/own_1.jsonl\""
  learns_own "$own" "$runs/embedded_own" embedded_last "\"$sets/own_1.jsonl\", \"$sets/own_2.jsonl\""
  learns_own "$norms" "$runs/embedded_norms" embedded_own "\"$sets/own_3.jsonl\", \"$sets/norms\", \"$sets/volumes\""
}
case "${1:-}" in
  --rehearse) rehearse ;;
  ?*) echo "usage: tools/rebuild_policy.sh [--rehearse]" >&2; exit 2 ;;
esac

# Judged on CPUs: the same records on every machine, in whatever pieces they are built.
./tritogen data build --config "$main" --out "$sets/levels_1_to_3" --device cpu
./tritogen data build --config "$large" --out "$sets/large_tensors" --device cpu
./tritogen data build --config "$long" --out "$sets/long_dimensions" --device cpu
./tritogen data build --config "$hybrid" --out "$sets/hybrid" --device cpu
./tritogen data build --config "$modules" --out "$sets/modules" --device cpu
./tritogen data build --config "$modules_long" --out "$sets/modules_long" --device cpu
./tritogen data build --config "$of_norms" --out "$sets/norms" --device cpu
./tritogen data build --config "$of_volumes" --out "$sets/volumes" --device cpu

# Repairs: what the policy that there is answers wrongly.
if [ ! -e "$sets/wrong.jsonl" ]; then
  ./tritogen data export "$sets/levels_1_to_3" --format records --one-per-program --split train --out "$sets/tasks.jsonl"
  rm -f "$sets/wrong.part.jsonl"  # of a run that was killed: eval appends
  ./tritogen eval --suite "$sets/tasks.jsonl" --count "$wrong_tasks" --proposer policy -n 5 --temperature 1 \
    --failures "$sets/wrong.part.jsonl"
  touch "$sets/wrong.part.jsonl"  # none at all is a result, too
  mv "$sets/wrong.part.jsonl" "$sets/wrong.jsonl"
fi

# On several GPUs: torchrun --nproc-per-node N --no-python ./tritogen sft … (the loss is the same).
./tritogen sft --config "$start"
./tritogen sft --config "$rest"
./tritogen sft --config "$last"

# What it then learns from: its own right answers, and its wrong ones with their verdicts; then what it answers once it has
# learned from these, with both.
own_answers() {  # ROUND MODEL
  local round=$1 model=${own_proposer:-$2} set="$sets/own_$1.jsonl"
  [ ! -e "$set" ] || return 0
  answers() {  # CONFIGURATION SPLIT LEVELS COUNT SEED
    ./tritogen eval --config "$1" --split "$2" --level "$3" --count "$4" --seed "$round$5" -n 4 --temperature 1 --largest-size 0 \
      --proposer "$model" --conversations "$sets/own.part.jsonl"
  }
  rm -f "$sets/own.part.jsonl"  # of a run that was killed: eval appends
  answers "$main" train 2,3 "$own_tasks" 11
  answers "$main" train 3 "$own_tasks" 12
  answers configs/data_hard.toml train 1,2 "$own_tasks" 13
  answers "$modules" train 2,3 "$own_tasks" 14
  answers configs/data_networks.toml train 2,3 "$own_tasks" 15
  answers "$modules_long" train 1,2 $((own_tasks / 4 + 1)) 16
  answers configs/data_images.toml train 1,2,3 $((own_tasks / 6 + 1)) 17
  answers "$hybrid" train 2,3 $((own_tasks / 6 + 1)) 18
  answers "$main" held-out 1,2,3 "$held_out_tasks" 19
  mv "$sets/own.part.jsonl" "$set"
}
own_answers 1 "$runs/embedded_last/final"
./tritogen sft --config "$own_first"
own_answers 2 "$runs/embedded_own_first/final"
./tritogen sft --config "$own"
own_answers 3 "$runs/embedded_own/final"
./tritogen sft --config "$norms"
python3 tools/training_curve.py "$runs"/embedded_start/log.jsonl "$runs"/embedded/log.jsonl "$runs"/embedded_last/log.jsonl \
  "$runs"/embedded_own/log.jsonl "$runs"/embedded_norms/log.jsonl --out "$runs/curve.svg"

mkdir -p "$runs/eval"
score() {  # SPLIT LEVELS PROGRAMS NAME
  ./tritogen eval --proposer "$runs/embedded_norms/final" --split "$1" --level "$2" --count "$3" -n "$samples" --seed 5 \
    --out "$runs/eval/$4" --html "$runs/eval/$4.html"
}
score held-out 1,2,3 "$programs" held-out
score held-out 4,5,8 "$more_programs" longer
score pairs 2 "$programs" pairs
score shapes 1,2 "$more_programs" shapes
echo "the new model is $runs/embedded_norms/final; copy it and $runs/curve.svg to models/embedded when it is better"
