#!/usr/bin/env bash
# Verified records per second of `data build`, start-up apart, and that two builds are the same byte for byte.
#   bench/data_build.sh [PROGRAMS] [SEED]      (default: 400 programs of levels 1 to 3, seed 1)
set -euo pipefail
cd "$(dirname "$0")/.."
programs="${1:-400}" seed="${2:-1}"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
third=$((programs / 3))
config() { # LEVEL=PROGRAMS…: configs/data.toml with these levels
  printf 'like = "%s/configs/data.toml"\nseed = %s\n' "$PWD" "$seed"
  local level
  for level in "$@"; do printf '\n[[level]]\nlevel = %s\nprograms = %s\n' "${level%=*}" "${level#*=}"; done
}
config 1=1 > "$work/one.toml"
config "1=$third" "2=$third" "3=$((programs - 2 * third))" > "$work/set.toml"
seconds() { # CONFIG OUT
  local start end
  start="$(date +%s.%N)"
  ./tritogen data build --config "$1" --out "$2" > "$2.txt" 2>&1
  end="$(date +%s.%N)"
  python3 -c "print($end - $start)"
}
./tritogen setup
once="$(seconds "$work/one.toml" "$work/one")"
first="$(seconds "$work/set.toml" "$work/first")"
cat "$work/first.txt"
seconds "$work/set.toml" "$work/second" > /dev/null
diff -r "$work/first" "$work/second"
python3 - "$work/first/manifest.json" "$once" "$first" <<'PY'
import json, os, sys
manifest, once, seconds = json.load(open(sys.argv[1])), float(sys.argv[2]), float(sys.argv[3])
records = manifest["records"]
print(f"{records} records in {seconds:.1f} s on {os.cpu_count()} cores: {records / seconds:.1f}/s; "
      f"without the {once:.1f} s that one program takes: {records / max(0.1, seconds - once):.1f}/s; built again: the same bytes")
PY
