#!/usr/bin/env bash
# Compiles kernels/ for aarch64 and runs the kernel tests under qemu-user, NEON dot products included.
# Usage: neon.sh [build folder]; exit code 77 (skipped) when the cross compiler or qemu is missing.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${1:-$(mktemp -d)}
cxx=${QFX_AARCH64_CXX:-aarch64-linux-gnu-g++}
qemu=${QFX_AARCH64_QEMU:-qemu-aarch64}
for tool in "$cxx" "$qemu"; do
  if ! command -v "$tool" >/dev/null; then
    echo "skipped: '$tool' not found (apt-get install g++-aarch64-linux-gnu qemu-user)"
    exit 77
  fi
done
launcher=$(command -v ccache || true)
# xsimd is headers only; a folder of its own keeps the host's other headers away from the cross compiler.
mkdir -p "$build/include"
for folder in /usr/include /usr/local/include; do
  if [ -d "$folder/xsimd" ]; then ln -sfn "$folder/xsimd" "$build/include/xsimd"; fi
done
flags=(-std=c++20 -O2 -ffp-contract=off -Wall -Wextra -Werror -Wno-unused-parameter -Wno-psabi
       -I"$root" -isystem "$build/include")
neon=(-march=armv8.2-a+dotprod)

objects=()
compile() { # compile SOURCE FLAGS...
  local object
  object="$build/$(echo "${1#"$root"/}" | tr / _).o"
  objects+=("$object")
  $launcher "$cxx" "${flags[@]}" "${@:2}" -c "$1" -o "$object"
}
while read -r source; do
  case "$source" in
  *Avx*.cpp) ;;
  *NeonDot.cpp) compile "$source" "${neon[@]}" ;;
  *) compile "$source" ;;
  esac
done < <(find "$root/kernels" -name '*.cpp' | sort)
for source in "$root"/test/kernels/int8/*Test.cpp "$root"/test/kernels/float/*Test.cpp "$root/test/kernels/neon/NeonMain.cpp"; do
  case "$source" in *Simde*) continue ;; esac # x86 rows
  compile "$source" -I"$root/test/kernels/neon" -I"$root/test" -DQFX_GOLDEN_DIR="\"$root/test/golden\""
done
"$cxx" -static "${objects[@]}" -o "$build/neon-tests"
"$qemu" -cpu max "$build/neon-tests"
