#!/usr/bin/env bash
# Set Redwell up in this clone: system packages (when root), .venv from the locks, the inference runtime, the models.
#
#   bash packaging/setup.sh            do what is missing; nothing when everything is there (a few milliseconds)
#   REBUILD=1 bash packaging/setup.sh  build the inference runtime again, too
#
# Exit codes: 0 ready, 3 something is missing on this machine (the last lines say what, and the command to run).
set -euo pipefail
cd "$(dirname "$0")/.."

STAMP=.venv/redwell-setup
say() { if [[ -t 1 ]]; then printf '\033[1m==> %s\033[0m\n' "$*"; else printf '==> %s (after %s s)\n' "$*" "$SECONDS"; fi; }
missing() { printf '\nset-up stopped: %s\n' "$1" >&2; printf '  %s\n' "${@:2}" >&2; exit 3; }

# What the environment was made from. The folder is part of it, for a virtual environment cannot be moved, and the
# CPU, for the runtime is built for it.
setup_key() { { pwd; grep -m 1 ^flags /proc/cpuinfo || uname -m; cat pyproject.toml packaging/requirements* packaging/*.sh packaging/*.py packaging/llama_source/*; } 2> /dev/null | cksum; }

# The stamp holds the key, then the paths of everything outside .venv that must still be there.
is_ready() {
  local path first=1
  [[ -e $STAMP && -x .venv/bin/python && -z ${REBUILD:-} ]] || return 1
  while IFS= read -r path; do
    if ((first)); then [[ $path == "$1" ]] || return 1; first=0; continue; fi
    [[ -e $path ]] || return 1
  done < "$STAMP"
}

find_python() {
  local name
  for name in python3 python3.11 python3.12 python3.13; do
    if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null; then echo "$name"; return; fi
  done
  return 1
}
has_venv() { "$1" -c 'import ensurepip, venv' 2> /dev/null; }
has_clang() { command -v clang++-16 > /dev/null && [[ -e /usr/lib/llvm-16/lib/libomp.so ]]; }
has_qt_libraries() { ldconfig -p 2> /dev/null | grep -q 'libEGL\.so\.1' && ldconfig -p | grep -q 'libxkbcommon\.so\.0'; }
has_compiler() { has_clang || command -v clang++ > /dev/null || command -v g++ > /dev/null; }

# Debian 12 has it, also while the package lists are not there to say so.
clang_is_offered() {
  [[ -n $(apt-cache policy clang-16 2> /dev/null) ]] || grep -qs '^VERSION_CODENAME=bookworm' /etc/os-release
}

# What Qt needs of Debian: to show a window, and to draw one without a screen in tests.
QT_PACKAGES=(
  libegl1 libfontconfig1 libglib2.0-0 libxkbcommon0 libxkbcommon-x11-0 libdbus-1-3
  libxcb-cursor0 libxcb-icccm4 libxcb-keysyms1 libxcb-shape0 xvfb xauth
)

# What tests watch system calls with; they are skipped where it is missing.
TEST_PACKAGES=(strace)

# Debian's packages that are not there yet. clang 16 rather than gcc: gcc 12 miscompiles the AMX kernels.
wanted_packages() {
  local python
  if ! python=$(find_python); then echo python3 python3-venv; elif ! has_venv "$python"; then echo python3-venv; fi
  if ! has_clang; then
    if [[ $(uname -m) == x86_64 ]] && clang_is_offered; then
      echo clang-16 libomp-16-dev
    elif ! has_compiler; then
      echo g++
    fi
  fi
  local package
  for package in "${QT_PACKAGES[@]}" "${TEST_PACKAGES[@]}"; do
    if ! dpkg -s "$package" > /dev/null 2>&1; then echo "$package"; fi
  done
}

install_packages() {
  local -a packages
  command -v apt-get > /dev/null || return 0
  # Without lists, apt knows no package: neither that clang 16 can be had nor that it cannot.
  if ((EUID == 0)) && ! has_clang && [[ -z $(apt-cache policy clang-16 2> /dev/null) ]]; then
    say "reading the package lists"
    apt-get update -qq || missing "the package lists could not be read" "check the network, then run the same again"
  fi
  read -r -d '' -a packages < <(wanted_packages; printf '\0') || true
  ((${#packages[@]})) || return 0
  if ((EUID != 0)); then
    if find_python > /dev/null && has_venv "$(find_python)" && has_compiler && has_qt_libraries; then return 0; fi
    missing "these system packages are not installed: ${packages[*]}" \
      "sudo apt-get update && sudo apt-get install -y --no-install-recommends ${packages[*]}" "then run the same again"
  fi
  say "installing system packages: ${packages[*]}"
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}" > "$LOG" 2>&1 || {
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}"
  } >> "$LOG" 2>&1 || { tail -n 5 "$LOG" >&2; missing "apt-get could not install ${packages[*]}" "see the lines above"; }
}

check_tools() {
  local python
  python=$(find_python) || missing "Python 3.11 or newer is not installed" "install it, then run the same again"
  has_venv "$python" || missing "$python cannot make virtual environments" "install its venv package, then run the same again"
  has_compiler || missing "there is no C++ compiler" "install clang 16 or g++ (macOS: xcode-select --install)"
}

# The programs of an environment name the folder that it was made in: in one that was moved or copied they would run
# what lies there.
was_made_here() {
  local made
  made=$(grep '^command = ' .venv/pyvenv.cfg 2> /dev/null) || return 0
  [[ $made == *" $(pwd -P)/.venv" ]]
}

make_environment() {
  if ! { was_made_here && .venv/bin/python -c 'import pip' 2> /dev/null; }; then
    say "making .venv"
    rm -rf .venv
    "$(find_python)" -m venv .venv
  fi
  local -a pip=(.venv/bin/python -m pip --disable-pip-version-check --no-input)
  local -a locked=(--no-deps --require-hashes -r packaging/requirements.lock)
  say "installing the locked packages"
  # uv unpacks several at once: 10 s where pip takes 85. It reads none of pip's settings: where those name another
  # index, uv fails, and pip does it.
  if ! { "${pip[@]}" install -qq --no-deps --require-hashes -r packaging/requirements-uv.lock \
    && .venv/bin/uv pip install --quiet --python .venv/bin/python "${locked[@]}"; } > "$LOG" 2>&1; then
    say "uv could not do it ($(tail -n 1 "$LOG" | cut -c 1-120)): pip, about a minute"
    "${pip[@]}" install -qq "${locked[@]}"
  fi
  say "installing Redwell itself"
  "${pip[@]}" install -qq --no-deps --no-build-isolation --editable .
}

key=$(setup_key)
if is_ready "$key"; then exit 0; fi
LOG=$(mktemp)
trap 'rm -f "$LOG"' EXIT
install_packages
check_tools
make_environment
say "preparing the inference runtime and the models"
.venv/bin/python packaging/finish_setup.py "$STAMP.new"
{ echo "$key"; cat "$STAMP.new"; } > "$STAMP"
rm -f "$STAMP.new"
say "ready"
