#!/bin/sh
# The whole parity test: exports and records with PyTorch, runs qfx on the same models, writes RESULTS.md.
# usage: run.sh [BUILD_DIR] [NETWORK...]     QFX_PYTHON names the interpreter, QFX_PARITY_DIR keeps the recordings.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=${1:-$here/../../build/release}
[ $# -gt 0 ] && shift
python=${QFX_PYTHON:-python3}
if ! "$python" -c 'import torch, torchvision' 2>/dev/null &&
   ! "$python" -c 'import sys; sys.path.insert(0, "'"$here"'/../../tools/export/examples")
from export_torchvision import import_torchvision; import_torchvision()' 2>/dev/null; then
  echo "parity: skipped, '$python' has no torch with torchvision (set QFX_PYTHON)"
  exit 0
fi
opt=$(find "$build" -name qfx-opt -type f | head -n 1)
run=$(find "$build" -name qfx-run -type f | head -n 1)
if [ -z "$opt" ] || [ -z "$run" ]; then
  echo "parity: error: no qfx-opt and qfx-run under '$build'" >&2
  exit 2
fi
folder=${QFX_PARITY_DIR:-}
if [ -z "$folder" ]; then
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
fi
"$python" "$here/record.py" "$@" -o "$folder"
"$python" "$here/compare.py" "$folder" "$@" --qfx-opt="$opt" --qfx-run="$run"
