#!/usr/bin/env bash
# Installs what building and testing qfx needs from Debian's packages (12 or 13), as root or through sudo.
# Prints what it does; does nothing when everything is there.
set -euo pipefail

if command -v llvm-config-14 >/dev/null || apt-cache show llvm-14-dev >/dev/null 2>&1; then llvm=14; else llvm=19; fi
packages=(g++ cmake ninja-build ccache git python3 "llvm-$llvm-dev" "llvm-$llvm-tools" nlohmann-json3-dev libspdlog-dev libxsimd-dev
  catch2 zlib1g-dev libzstd-dev)
if [ "${1:-}" = --all-tests ]; then
  packages+=(libsimde-dev)
  [ "$(uname -m)" = x86_64 ] && packages+=(g++-aarch64-linux-gnu qemu-user)
fi

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
# A cmake from elsewhere (pip) serves as well as Debian's.
if command -v cmake >/dev/null; then missing=("${missing[@]/#cmake/}"); fi
missing=($(printf '%s\n' "${missing[@]:-}" | grep -v '^$' || true))
if [ ${#missing[@]} -eq 0 ]; then
  echo "dependencies: all installed"
  exit 0
fi
sudo=""
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "error: not root and no sudo; install: ${missing[*]}" >&2; exit 1; }
  sudo=sudo
fi
echo "dependencies: apt-get install ${missing[*]}"
$sudo apt-get update -qq
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
