# `make demo` and `make test` set everything up themselves: a virtual environment in .venv, then pip.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DOCS_STAMP := $(VENV)/.installed-docs
BENCH_STAMP := $(VENV)/.installed-bench
PYTEST := $(BIN)/python -m pytest
TORCH := $(VENV)/torch

# a half-made environment must not look like a whole one to the next call
.DELETE_ON_ERROR:

.PHONY: help demo test test-full nightly test-networks lint format docs reproduction bench clean

help:
	@echo "make demo       delete labels of a real data set, find them again, show how well"
	@echo "make test       the test suite (minutes)"
	@echo "make test-full  the test suite with the slow tests"
	@echo "make nightly    make test-full with several Pythons, each in an environment of its own"
	@echo "make test-networks  the tests that need torch, which it installs beside the environment"
	@echo "make lint       ruff and mypy"
	@echo "make docs       build the documentation; warnings are errors"
	@echo "make reproduction  published figures beside ours, from the committed rows"
	@echo "make bench      the speed benchmarks"
	@echo "make clean      remove everything that was built"

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("labelgap needs Python >= 3.11, this is " + sys.version.split()[0] + "; try: make PYTHON=python3.12") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)

$(STAMP): pyproject.toml papers/pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]' ruff mypy
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable papers
	@touch $@

$(DOCS_STAMP): pyproject.toml $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@

$(BENCH_STAMP): pyproject.toml $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	@touch $@

# one thread: it takes seconds, and on a busy machine threads would wait for each other
demo: $(STAMP)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/labelgap demo

test: $(STAMP)
	$(PYTEST) -n 2 -m "not slow"

test-full: $(STAMP)
	$(PYTEST) -n 2

# all of them are tried; make nightly NIGHTLY="python3.13 python3.14"
NIGHTLY ?= python3.11 python3.12
NIGHTLY_TESTS ?= test-full
nightly:
	@failed=; for python in $(NIGHTLY); do \
	  $(MAKE) --no-print-directory PYTHON=$$python VENV=.venv-$$(basename $$python) $(NIGHTLY_TESTS) \
	    && echo "$$python: passed" || failed="$$failed $$python"; \
	done; test -z "$$failed" || { echo "failed with:$$failed"; exit 1; }

$(TORCH)/.installed: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade --target $(TORCH) torch==2.13.0
	@touch $@

# apart from the environment: everything else must work without torch
test-networks: $(TORCH)/.installed
	PYTHONPATH=$(CURDIR)/$(TORCH) $(PYTEST) -n 2 tests/networks tests/mend/test_portfolio.py tests/mend/test_portfolio_members.py tests/mend/test_known_labels.py

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(DOCS_STAMP)
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

reproduction: $(STAMP)
	@mkdir -p docs/_build
	$(BIN)/labelgap bench report --markdown papers/reproduction

bench: $(BENCH_STAMP)
	@for script in benchmarks/*_speed.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

clean:
	rm -rf $(VENV) .venv-* build dist docs/_build .pytest_cache .ruff_cache .mypy_cache
