# Shapes of models and steps by name, as arguments of train_pass_bench and torch_compile_train.py. For scripts to source.
declare -A shapes=(
  [384x10]="--hidden 384 --layers 10 --heads 6 --kv-heads 2 --intermediate 1024 --vocabulary 2048 --tokens 65536"
  [384x12]="--hidden 384 --layers 12 --heads 6 --kv-heads 2 --intermediate 1024 --vocabulary 2048 --tokens 65536"
  [384x12-128k]="--hidden 384 --layers 12 --heads 6 --kv-heads 2 --intermediate 1024 --vocabulary 2048 --tokens 131072"
  [384x10-32k]="--hidden 384 --layers 10 --heads 6 --kv-heads 2 --intermediate 1024 --vocabulary 2048 --tokens 32768"
  [512x6]="--hidden 512 --layers 6 --heads 8 --kv-heads 2 --intermediate 1408 --vocabulary 2048 --tokens 65536"
  [0.5b]="--qwen2 --hidden 896 --layers 24 --heads 14 --kv-heads 2 --intermediate 4864 --vocabulary 151936 --tokens 32768"
  [qwen3-0.6b]="--hidden 1024 --layers 28 --heads 16 --kv-heads 8 --head-dim 128 --intermediate 3072 --vocabulary 151936 --tokens 16384"
  [tiny]="--hidden 64 --layers 1 --heads 2 --kv-heads 1 --head-dim 32 --intermediate 96 --vocabulary 128 --tokens 96 --shortest 5 --longest 40"
)
