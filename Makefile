# Every target does its own set-up: Python 3.11 and make are enough (g++ makes it fast).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Versions that were tested together; CONSTRAINTS= takes the newest that pyproject.toml allows.
CONSTRAINTS ?= -c constraints.txt
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check $(CONSTRAINTS)
SOURCES := pyproject.toml constraints.txt CMakeLists.txt $(wildcard src/podium/kernels/native/*)

.PHONY: demo test check docs screenshots bench connectors soak clean help

demo: $(VENV)/installed
	$(BIN)/podium demo --force

# Compiled modules are kept, also where the environment forbids it: tests start hundreds of processes.
test soak: export PYTHONDONTWRITEBYTECODE =

# Test workers on all cores, so each on one thread. Each takes a stretch of the tests, so that few of
# them start the same server, and helps the others at the end. A test of several threads lets those that
# wait sleep: there are more threads than cores.
test: $(VENV)/installed-dev
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 OMP_WAIT_POLICY=PASSIVE $(BIN)/python -m pytest -n auto --dist worksteal

check: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m tools.generate --check
	$(BIN)/python -m tools.gallery --check
	$(BIN)/python -m tools.constraints --check
	$(BIN)/python -m tools.licences --check
	$(BIN)/mkdocs build --strict --quiet

docs: $(VENV)/installed-dev
	$(BIN)/python -m tools.generate --write
	$(BIN)/python -m tools.gallery --write
	$(BIN)/python -m tools.licences --write
	$(BIN)/python -m tools.examples --write
	$(BIN)/mkdocs build --strict

# Pictures of the real apps, for the README and the docs; needs Chromium.
screenshots: $(VENV)/installed-dev
	$(BIN)/python -m tools.screenshots

bench: $(VENV)/installed-bench
	$(BIN)/python -m benchmarks $(QUICK)

# Podium inside other packages, with the real packages, in an environment of their own. CONNECTORS=test_ir_datasets
# runs one file. CONNECTORS=light leaves out PyTorch and the recipes, as .ci/run does in a smaller environment.
CONNECTORS ?= all
connectors: export PYTHONDONTWRITEBYTECODE =
connectors: .venv-connectors/installed
	OMP_NUM_THREADS=1 .venv-connectors/bin/python -m pytest tests/connectors --connectors $(CONNECTORS)
	.venv-connectors/bin/python -m tools.licences --check --connectors

# The very large case counts, of which CI runs a tenth, and every paper's experiments, cut short. Of generated
# cases (hypothesis) it tries three to ten times as many as `make test`: tests/support/case_counts.py.
soak: $(VENV)/installed-dev
	PODIUM_CASES=100000 $(BIN)/python -m pytest -n auto -m hypothesis
	PODIUM_CASES=100000 $(BIN)/python -m pytest -n auto tests/data/test_letor_fuzz.py \
	  tests/postranking/test_hard_rules.py tests/labelling/test_strategies.py \
	  tests/rankers/test_forged_models.py tests/rankers/test_model_files.py tests/data/test_damaged_files.py \
	  tests/podium_papers/test_reproduce.py tests/data/test_placements.py tests/labelling/test_bayesian.py \
	  tests/clicks/test_counterfactual.py tests/clicks/test_propensities.py tests/features/test_cranfield.py \
	  tests/apps/serving/test_openapi.py
	rm -rf build/dist && $(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir build/dist .
	$(BIN)/python tests/installs/extras.py build/dist/*.whl
	PODIUM_CASES=100000 $(BIN)/python -m pytest tests/rule_history
	PODIUM_KILLS=20 PODIUM_CUTS=100 $(BIN)/python -m pytest tests/cluster/test_faults.py tests/cluster/test_lambdamart.py
	for paper in toprank topk cfbrs rankopt rpc-mtl; do \
	  $(BIN)/podium reproduce $$paper --data $${PODIUM_LETOR:-../shared/data} --out build/reproduce --quick || exit 1; \
	done
	sh tests/fuzz/run 1000000

help:
	@echo 'demo   set up and run the main job        check  linters, types, import order, docs'
	@echo 'test   set up and run the tests           docs   refresh generated pages, build the site'
	@echo 'bench  measure against other tools        soak   the very large case counts'
	@echo 'connectors  test podium inside PyTorch, PyTerrier, MLflow and others'
	@echo 'clean  remove what the others made        screenshots  take the pictures of the docs again'

clean:
	rm -rf $(VENV) .venv-connectors build site dist

# Editable, so that a changed Python file needs no new install; a changed kernel does.
# With the demo comes what `podium serve` and `podium judge demo` need, which people try next.
$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: $(VENV)/bin/python $(SOURCES)
	$(PIP_INSTALL) -e '.[report,web]'
	touch $@

$(VENV)/installed-dev: $(VENV)/bin/python $(SOURCES)
	$(PIP_INSTALL) -e '.[dev]'
	touch $@ $(VENV)/installed

$(VENV)/installed-bench: $(VENV)/installed-dev
	$(PIP_INSTALL) -e '.[bench]'
	touch $@

.venv-connectors/installed: $(SOURCES) constraints-connectors.txt
	$(PYTHON) -m venv .venv-connectors
	.venv-connectors/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-connectors.txt -e '.[connectors]'
	touch $@
