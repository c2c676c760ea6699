#!/usr/bin/env bash
# Rewrites requirements.lock from requirements.in. Needs uv (pip install uv). Run it when a pinned version changes.
set -euo pipefail
cd "$(dirname "$0")/.."
{
  echo "# Made from requirements.in by tools/lock.sh; every file is pinned by hash."
  uv pip compile --quiet --generate-hashes --no-emit-index-url --no-annotate --no-header \
    --python-version 3.11 --python-platform x86_64-manylinux_2_28 requirements.in
} > requirements.lock.tmp
mv requirements.lock.tmp requirements.lock
