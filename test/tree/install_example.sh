#!/usr/bin/env bash
# Installs the build into a scratch prefix, builds docs/example against it and runs it on the shipped model.
# usage: install_example.sh SOURCE_DIR BUILD_DIR
set -euo pipefail
source=$1 build=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cmake --install "$build" --prefix "$scratch/prefix" >/dev/null
flags=$(sed -n 's/^QFX_SANITIZE:STRING=//p' "$build/CMakeCache.txt")
cmake -S "$source/docs/example" -B "$scratch/build" -G Ninja -DCMAKE_PREFIX_PATH="$scratch/prefix" ${flags:+-DCMAKE_CXX_FLAGS="-fsanitize=$flags"} >/dev/null
cmake --build "$scratch/build" -- --quiet
digits=$source/test/models/digits
output=$("$scratch/build/quantize" "$digits/digits.qfx" "$digits/calib.safetensors" "$digits/test.safetensors")
echo "$output"
[ "$(grep -c '^out  f32\[100, 10\]$' <<<"$output")" = 5 ]
