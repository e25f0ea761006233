#!/usr/bin/env bash
# Writes deps/requirements-*.txt (all versions and hashes) anew from the *.in files next to them. Commit both.
set -euo pipefail
cd "$(dirname "$0")/../deps"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work"
"$work/bin/python" -m pip install -q --disable-pip-version-check uv
for file in requirements-*.in; do
  echo "lock: $file"
  "$work/bin/uv" pip compile -q --generate-hashes --no-emit-index-url --no-emit-find-links --no-header \
    --python-version 3.11 "$file" -o "${file%.in}.txt"
done
