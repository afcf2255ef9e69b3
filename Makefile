# Every target builds what it needs in $(VENV); nothing has to be installed by hand.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test lowest guarantees lint types docs bench mutants clean

demo: $(VENV)/.base ## the main job on simulated data, end to end
	$(BIN)/python examples/switched_stations.py
	$(BIN)/python examples/shifted_road.py
	$(BIN)/python examples/counted_rates.py
	$(BIN)/python examples/patients_shift.py
	$(BIN)/python examples/digits_shift.py

test: $(VENV)/.test ## laws, units, guarantees at their short length, the house rules
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

lowest: $(VENV)-lowest/.test ## units and the house rules with the oldest versions that are supported
	OMP_NUM_THREADS=1 $(VENV)-lowest/bin/python -m pytest -n 2 tests/unit tests/house src

guarantees: $(VENV)/.test ## the statistical tests with ten times as many runs
	SHIFTPROOF_RUNS=10 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 tests/guarantees tests/published

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(VENV)/.lint
	$(BIN)/mypy

docs: $(VENV)/.docs
	$(BIN)/sphinx-build -W --keep-going -q -d docs/_build/doctrees docs docs/_build/html
	@echo "docs/_build/html/index.html"

bench: $(VENV)/.bench ## against numpy, scikit-learn, densratio and numpyro, measured in one run
	$(BIN)/python benchmarks/core.py
	$(BIN)/python benchmarks/controllers.py
	$(BIN)/python benchmarks/ratios.py
	$(BIN)/python benchmarks/bayes.py
	$(BIN)/python benchmarks/planning.py

mutants: $(VENV)/.test ## every deliberate mistake in risk/ has to be caught
	$(BIN)/python tests/mutants.py

clean:
	rm -rf $(VENV) $(VENV)-lowest docs/_build docs/pictures build dist
	rm -rf .mypy_cache .ruff_cache .import_linter_cache .hypothesis

$(VENV)/.base: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e .
	@touch $@

$(VENV)/.test: $(VENV)/.base
	$(PIP) -e ".[test]"
	@touch $@

$(VENV)-lowest/.test: pyproject.toml lowest.txt
	$(PYTHON) -m venv $(VENV)-lowest
	$(VENV)-lowest/bin/python -m pip install --quiet --disable-pip-version-check \
		-c lowest.txt -e ".[test]"
	@touch $@

$(VENV)/.bench: $(VENV)/.test
	$(PIP) -e ".[bench]"
	@touch $@

$(VENV)/.lint: $(VENV)/.base
	$(PIP) -e ".[lint]"
	@touch $@

$(VENV)/.docs: $(VENV)/.base
	$(PIP) -e ".[docs]"
	@touch $@
