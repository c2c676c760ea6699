#!/usr/bin/env bash
# Rewrites requirements.lock from requirements.in, and tests/requirements.lock, what tests need besides, from
# tests/requirements.in. Needs uv (pip install uv). Run it when a pinned version changes.
set -euo pipefail
cd "$(dirname "$0")/.."

lock() {  # FOLDER [OPTIONS]
  local folder="$1"
  shift
  {
    echo "# Made from ${folder#./}/requirements.in by tools/lock.sh; every file is pinned by hash." | sed 's#from \./#from #'
    uv pip compile --quiet --generate-hashes --no-emit-index-url --no-annotate --no-header \
      --python-version 3.11 --python-platform x86_64-manylinux_2_28 "$@" "$folder/requirements.in"
  } > "$folder/requirements.lock.tmp"
  mv "$folder/requirements.lock.tmp" "$folder/requirements.lock"
}

lock .
lock tests -c requirements.lock
