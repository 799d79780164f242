#!/usr/bin/env bash
# Builds qfx, then quantizes the trained model that ships with it and shows float and int8 side by side.
# Works from a bare checkout on Debian 12 and 13, as root or with sudo.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '\n== %s\n' "$1"; }

say "1. dependencies (Debian packages)"
tools/install-dependencies.sh

say "2. build (release)"
cmake --preset release -DQFX_BUILD_TESTS=OFF -DQFX_PRECOMPILE=ON -DCMAKE_UNITY_BUILD=ON -B build/quickstart >build-quickstart.log 2>&1 || { cat build-quickstart.log; exit 1; }
rm -f build-quickstart.log
cmake --build build/quickstart --parallel "$(nproc)" --target qfx-opt qfx-run -- --quiet
bin=build/quickstart/bin
models=test/models/digits
out=build/quickstart/digits
mkdir -p "$out"

say "3. quantize: fuse, prepare, calibrate on 200 images, convert, lower"
run() { printf '$ %s\n' "$*"; "$@"; }
run "$bin/qfx-opt" "$models/digits.qfx" --quantize=static --backend=x86 --calibrate="$models/calib.safetensors" --stats \
  -o "$out/digits.int8.qfx"

say "4. accuracy on 500 test images"
for model in "$models/digits.qfx" "$out/digits.int8.qfx"; do
  run "$bin/qfx-run" "$model" --inputs="$models/test.safetensors" --labels="$models/labels.safetensors" --print=none
done

say "5. time per image (batch 1, 1 thread)"
for model in "$models/digits.qfx" "$out/digits.int8.qfx"; do
  run "$bin/qfx-run" "$model" --benchmark --print=none
done

say "6. error of int8 against float: outputs, then the five worst layers"
run "$bin/qfx-run" "$out/digits.int8.qfx" --compare="$models/digits.qfx" --inputs="$models/test.safetensors" --worst=5

say "7. model files"
ls -l "$models/digits.qfx" "$models/digits.safetensors" "$out"/digits.int8.* | awk '{print $5 " bytes  " $9}'
echo
echo "Next: export your own network with tools/export (README.md), or read docs/."
