#!/usr/bin/env bash
# Builds qfx and runs every test.
# usage: tools/check.sh [--sanitize]     --sanitize: then once more under the address and undefined-behaviour sanitizers
set -euo pipefail
cd "$(dirname "$0")/.."

started=$SECONDS
step() { printf '\n== %s (%d s)\n' "$1" $((SECONDS - started)); }

step "dependencies"
tools/install-dependencies.sh --all-tests

# Rooms of the library are compiled eight files at a time: half the work where no cache has the objects yet.
run_suite() { # PRESET
  step "configure and build: $1"
  cmake --preset "$1" -DCMAKE_UNITY_BUILD=ON >"build-$1.log" 2>&1 || { cat "build-$1.log"; exit 1; }
  rm -f "build-$1.log"
  cmake --build "build/$1" --parallel "$(nproc)" -- --quiet
  step "tests: $1"
  ctest --test-dir "build/$1" --output-on-failure --no-tests=error
}

run_suite release
if [ "${1:-}" = --sanitize ]; then
  export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=0 UBSAN_OPTIONS=print_stacktrace=1
  run_suite asan
fi
step "done"
