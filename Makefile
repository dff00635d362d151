# `make demo` and `make test` each stand alone: both set up what is missing first, and nothing twice.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help demo test setup lint types layers compiled eval-demo bench fuzz package package-test clean

# Nothing is fetched from a model hub, ever.
export HF_HUB_OFFLINE := 1
export TRANSFORMERS_OFFLINE := 1
# Compiled modules are kept, whatever the environment says: tests start programs by the thousand, and each would compile
# all that it imports again.
export PYTHONDONTWRITEBYTECODE :=

BIN := .venv/bin

help:
	@echo "make demo       set up, then run the main job on the sample records and show the table"
	@echo "make test       set up, then check style, types, layers and run all tests"
	@echo "make setup      set up only (REBUILD=1 builds the inference runtime again)"
	@echo "make lint       style, types and layers only"
	@echo "make eval-demo  measure the sample case against its gold answers"
	@echo "make bench      run the benchmarks of tests/bench"
	@echo "make fuzz       read changed files, cases, models and commands by chance (SECONDS_EACH=600 for ten minutes each)"
	@echo "make package    build dist/redwell_VERSION_amd64.deb, which needs no compiler, network or Python"
	@echo "                (WITH_MODELS=1: the default models as well; WITH_VULKAN=1: the library for graphics cards)"
	@echo "make package-test  install it in a bare Debian 12 without a network, and use it there (as root)"
	@echo "make clean      remove .venv, caches and what the demo wrote (models stay in the per-user cache)"

setup:
	@bash packaging/setup.sh

demo: setup
	@$(BIN)/redwell run examples/police/officers.yaml --input examples/police/records --case demo.redwell --out officers.csv

# Tests that ask a real model come last and alone: two models on two cores are slower than one after the other. Only the
# files that hold such tests are read for them; to read all takes half a minute.
# The way through the window asks the smaller model. A test that hangs tells where, ends its process and fails.
HANGING := -o faulthandler_timeout=900 -o faulthandler_exit_on_timeout=true
test: setup
	@$(MAKE) --no-print-directory --jobs=2 types compiled
	@$(BIN)/redwell models install qwen2.5-coder-0.5b
	$(BIN)/python -m pytest -m "not model" -n 2 --dist worksteal $(HANGING)
	$(BIN)/python -m pytest -m model $(HANGING) $$(grep -rl 'mark\.model\b' tests --include='test_*.py' | sort)

lint: setup
	@$(MAKE) --no-print-directory --jobs=2 types layers

types:
	$(BIN)/mypy

layers:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

# In a fresh clone, while mypy works: one process compiles the tests, and what they import, which else two do each.
compiled: layers
	@test -d tests/__pycache__ || $(BIN)/python -m pytest --collect-only -qq > /dev/null || true

eval-demo: setup
	@$(BIN)/redwell eval examples/police

bench: setup
	$(BIN)/python -m pytest tests/bench -o python_files='bench_*.py' -s

# Each of eight targets for so many seconds; what is found is written below build/fuzz (docs/fuzzing.md).
SECONDS_EACH ?= 60
fuzz: setup
	cd tests && ../$(BIN)/python -m fuzz --seconds $(SECONDS_EACH)

package: setup
	$(BIN)/python packaging/package.py $(if $(WITH_MODELS),--with-models) $(if $(WITH_VULKAN),--with-vulkan)

package-test:
	bash packaging/package_test.sh dist

clean:
	rm -rf .venv build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	rm -f demo.redwell demo.redwell-shm demo.redwell-wal officers.csv officers.csv.custody.jsonl officers.csv.manifest.json
