# make serve · make test · make check · make site · make bench · make bench-peers · make torture · make inspector · make client · make generate
# Each does its own set-up: a .venv, pinned by the lock files. Only Python 3.11+ and make are needed.

PYTHON ?= python3
BIN := .venv/bin
# A daemon without its modules' bytecode takes twice as long to start.
unexport PYTHONDONTWRITEBYTECODE
ARGS ?=

INSPECTOR := $(shell find inspector -path '*/node_modules' -prune -o -type f -print)

.PHONY: serve site inspector client test check format generate bench bench-peers torture lock clean

serve: .venv/.ready
	@$(MAKE) --no-print-directory inspector || echo "It is served without the inspector; 'make inspector' tries again."
	@$(BIN)/everyagent serve $(ARGS)

inspector: .venv/.inspector

# The npm package of the TypeScript client, in clients/typescript/dist.
client: .venv/.ready .venv/.inspector
	@$(BIN)/python clients/typescript/build.py

# Each test runs once. A test that fails by chance is mended, or listed in tests/quarantine.txt until it is.
test: check .venv/.inspector
	@$(BIN)/python -m pytest --durations 20 $(ARGS)

check: .venv/.ready-dev
	@$(BIN)/ruff format --check --quiet
	@$(BIN)/ruff check --quiet
	@$(BIN)/basedpyright
	@$(BIN)/lint-imports

format: .venv/.ready-dev
	@$(BIN)/ruff format
	@$(BIN)/ruff check --fix

# The documentation as a site, in site/.
site: .venv/.ready-dev
	@$(BIN)/mkdocs build

# The sync client is generated from the async one.
generate: .venv/.ready-dev
	@$(BIN)/python tests/client/test_sync_client.py --write

# Figures, with ratios. Needs two quiet cores; takes some minutes.
bench: .venv/.ready-dev .venv/.inspector
	@$(BIN)/python -m bench $(ARGS)

# The same work by everyagent and by its nearest peer, which is fetched from npm.
bench-peers: .venv/.ready-dev
	@$(BIN)/python -m bench peers $(ARGS)

# Injects faults and checks what must hold (hours; ARGS="kills" runs one row). Writes torture-report.md.
torture: .venv/.ready-dev
	@$(BIN)/python -m tests.torture $(ARGS)

.venv/bin/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "everyagent needs Python 3.11 or newer; '$(PYTHON)' is older. Try: make PYTHON=python3.12"; exit 1; }
	@echo "Setting up .venv (once)"
	@$(PYTHON) -m venv .venv

.venv/.ready: requirements.lock pyproject.toml | .venv/bin/pip
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

.venv/.ready-dev: requirements-dev.lock .venv/.ready
	@echo "Fetching the development tools (once)"
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@touch $@

# The page at /ui, built into the package; the script itself knows whether anything changed.
.venv/.inspector: $(INSPECTOR) | .venv/.ready
	@$(BIN)/python inspector/build.py --fetch-node
	@touch $@

# Needs uv on the PATH; the lock files name versions and hashes, no addresses.
lock:
	uv pip compile pyproject.toml --group build --universal --python-version 3.11 --generate-hashes \
	  --no-header --no-annotate -q -o requirements.lock
	uv pip compile pyproject.toml --group dev --group build --universal --python-version 3.11 --generate-hashes \
	  --no-header --no-annotate -q -c requirements.lock -o requirements-dev.lock
	uv pip compile --group pyproject.toml:node --universal --python-version 3.11 --generate-hashes \
	  --no-header --no-annotate -q -o requirements-node.lock

clean:
	rm -rf .venv inspector/node_modules src/everyagent/inspector .pytest_cache .ruff_cache .hypothesis .import_linter_cache
