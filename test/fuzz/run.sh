#!/usr/bin/env bash
# Builds the fuzz targets with clang and the sanitizers, and runs each over the repository's own files and the committed corpus.
# usage: test/fuzz/run.sh [SECONDS [BUILD [TARGET...]]]     600 seconds each, in build/fuzz, all targets unless said
# A finding stops its target: the input lies in BUILD/findings, the exit code is 1.  Shrink it with `BUILD/bin/fuzz-X -minimize_crash=1 FILE`,
# mend the cause, and add the file to test/fuzz/corpus, which ctest replays.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-600} build=${2:-build/fuzz}
shift $(($# < 2 ? $# : 2))
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(qfx safetensors json qconfig)

clang=
for candidate in clang++ clang++-19 clang++-14; do command -v "$candidate" >/dev/null && { clang=$candidate; break; }; done
[ -n "$clang" ] || { echo "error: no clang++ (apt-get install clang-14, or clang-19 on Debian 13)" >&2; exit 2; }
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG="-O1 -g1" -DCMAKE_CXX_COMPILER="$clang" -DCMAKE_UNITY_BUILD=ON \
  -DQFX_BUILD_FUZZERS=ON -DQFX_SANITIZE=address,undefined,fuzzer-no-link >"$build.log" 2>&1 || { cat "$build.log"; exit 1; }
rm -f "$build.log"
cmake --build "$build" --target "${targets[@]/#/fuzz-}" -- --quiet

# Seeds: each model of a text test that holds several is a seed of its own.
rm -rf "$build/seeds"
mkdir -p "$build"/seeds/{qfx,safetensors,json,qconfig} "$build/findings"
python3 - "$build/seeds" <<'PYTHON'
import pathlib, re, shutil, sys

seeds = pathlib.Path(sys.argv[1])
for index, path in enumerate(sorted(pathlib.Path("test").rglob("*.qfx"))):
    parts = re.split(r"^(?:// -----.*|//--- .*)$", path.read_text(errors="replace"), flags=re.M)
    for number, part in enumerate(part for part in parts if "qfx 1" in part):
        (seeds / "qfx" / f"{index}-{number}.qfx").write_text(part.lstrip("\n"))
for index, path in enumerate(sorted([*pathlib.Path("test").rglob("*.safetensors"), *pathlib.Path("test").rglob("*.npy")])):
    if path.stat().st_size < 100000:
        shutil.copy(path, seeds / "safetensors" / f"{index}-{path.name}")
for index, path in enumerate(sorted([*pathlib.Path("backends/builtin").glob("*.json"), *pathlib.Path("test").rglob("*.json")])):
    text = path.read_text()
    if len(text) < 200000:
        name = "qconfig" if '"global"' in text or '"module_name"' in text else "json"
        (seeds / name / f"{index}-{path.name}").write_text(text)
PYTHON

failed=0
for target in "${targets[@]}"; do
  printf '\n== fuzz-%s, %s s\n' "$target" "$seconds"
  mkdir -p "$build/work/$target"
  "$build/bin/fuzz-$target" -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=10 -max_len=16384 -print_final_stats=1 -verbosity=0 \
    -artifact_prefix="$build/findings/$target-" "$build/work/$target" "test/fuzz/corpus/$target" "$build/seeds/$target" || failed=1
done
exit $failed
