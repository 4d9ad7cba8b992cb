# Every task sets up what it needs: a virtual environment in .venv, made once with the python3 found on PATH.
# Another interpreter: make test PYTHON=python3.13.   Another folder: make test VENV=/elsewhere.

PYTHON ?= python3
VENV ?= .venv
PYTEST_ARGS ?=
BENCH_ARGS ?=
FUZZ_ARGS ?= --programs 20000 --compositions 5000 --exports 1000 --foreign 1000 --jobs 4
# the long suites take turns on up to four cores; PYTEST_ARGS="-n 0 …" runs them in one process, as debuggers want it
PARALLEL := -n auto --maxprocesses 4 --dist worksteal
PY := $(VENV)/bin/python

# settings that make NumPy's BLAS take the kernels of another machine would spoil every comparison
unexport OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
# hundreds of tests start processes, and each would compile all of the package's text again
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test exhaustive quick fuzz damage lint types stubs prebuilt golden semantics bench bench-full docs clean
.DELETE_ON_ERROR:

help: ## list the tasks
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)$$/  make \1	\2/p' Makefile

demo: $(VENV)/examples.done ## train on scanned digits: accuracy, time per step, pictures in out/
	$(PY) examples/digits.py

test: $(VENV)/test.done ## run the tests: all but of large families of parameters, of which a sample runs
	$(PY) -m pytest $(PARALLEL) $(PYTEST_ARGS)

exhaustive: $(VENV)/test.done ## run the tests with all parameters of large families: half as long again
	$(PY) -m pytest $(PARALLEL) --exhaustive $(PYTEST_ARGS)

quick: $(VENV)/test.done ## run the tests that take no more than a few seconds each
	$(PY) -m pytest $(PARALLEL) -m "not slow" $(PYTEST_ARGS)

fuzz: $(VENV)/test.done ## run as many random programs as fit in a night: FUZZ_ARGS="--programs 20000 --seed 0 --jobs 2"
	PYTHONPATH=src:tests $(PY) -m fuzz $(FUZZ_ARGS)

damage: $(VENV)/test.done ## load 10,000 damaged artifacts: Python exceptions, never a crash
	PYTHONPATH=src:tests $(PY) -m fuzz.artifacts --count 10000 --jobs 2

lint: $(VENV)/test.done ## check style, imports and likely mistakes with ruff
	$(PY) -m ruff check .

types: $(VENV)/test.done ## check type annotations with mypy
	$(PY) -m mypy

stubs: $(VENV)/test.done ## write the stubs that show type checkers and editors which public names load late
	cd tests && PYTHONPATH=../src:. $(abspath $(PY)) -m stubs

prebuilt: $(VENV)/test.done ## write the library kernels and tables that come with the package, after a change to what writes them
	cd tests && PYTHONPATH=../src:. $(abspath $(PY)) -m prebuilt

golden: $(VENV)/test.done ## rewrite the golden files in tests/graphs; read the diff before committing
	$(PY) -m pytest --update-golden $(PYTEST_ARGS)
	@git status --short tests/graphs || true

semantics: $(VENV)/test.done ## run the behaviours promised to users, one line each
	$(PY) -m pytest -v -m semantics $(PYTEST_ARGS)

bench: $(VENV)/bench.done ## measure beside hand-written NumPy, numba and JAX, on one thread
	$(PY) -m benchmarks

bench-full: $(VENV)/bench.done ## measure every promise beside every peer, one thread and all, to out/bench: BENCH_ARGS="--quick --peer-python TF=…"
	$(PY) -m benchmarks.full $(BENCH_ARGS)

docs: $(VENV)/docs.done ## write the documentation site to out/docs
	$(PY) docs/site/build.py --strict

clean: ## remove the environment, caches and everything written
	rm -rf $(VENV) out build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis src/*.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "tracejit needs Python 3.11 or newer, and $(PYTHON) is " + sys.version.split()[0] + "; try: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	@touch $@

# one stamp per extra: made again only when the dependencies may have changed
$(VENV)/%.done: pyproject.toml | $(VENV)/made
	$(PY) -m pip install --quiet --disable-pip-version-check --editable ".[$*]"
	@touch $@
