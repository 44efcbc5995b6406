# Two commands: `make lab` opens the notebooks, `make test` runs every test. Both install what they need into .venv,
# once; they install again only when the pins or the package's own metadata have changed.

PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
READY  := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help lab site test notebooks lint format clean mutants soak

help:
	@echo "make lab       open JupyterLab at the course's start page"
	@echo "make test      run every test: unit, golden, property, doctest, notebooks, browser"
	@echo "make notebooks run the notebooks alone, in random order"
	@echo "make site      write the live scenarios as pages, with handouts for a class"
	@echo "make lint      ruff and mypy"
	@echo "make format    let ruff lay out the code"
	@echo "make mutants   change the code on purpose and count what no test notices: docs/mutants.md"
	@echo "make soak      20,000 random programs, of which PyTorch is the judge: docs/soak.md"
	@echo "make clean     remove the environment and everything that the tools made"

lab: $(READY)
	$(PY) -m jupyterlab --LabApp.default_url="/lab/tree/notebooks/index.ipynb" \
		$(if $(filter 0,$(shell id -u)),--allow-root)

# Every live scenario as a page that opens from disk, with an index and what a class needs: build/site/index.html
site: $(READY)
	$(PY) -m course.site

# loadscope keeps the cells of one notebook, and the tests of one module, in order on one worker.
PYTEST = $(PY) -m pytest -n 2 --dist loadscope --nbval --nbval-current-env --nbval-cell-timeout 120 \
	--nbval-sanitize-with tests/nbval_sanitize.cfg
test: $(READY)
	$(PYTEST) tests gradviz README.md docs/why.md notebooks $(ARGS)

# No notebook may lean on another one, nor on what an earlier run of it left.
SHUFFLE = import glob, random; books = sorted(glob.glob("notebooks/*.ipynb")); random.shuffle(books); print(*books)
notebooks: $(READY)
	books=$$($(PY) -c '$(SHUFFLE)') && echo "$$books" && $(PYTEST) $$books $(ARGS)

lint: $(READY)
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

format: $(READY)
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix .

$(READY): requirements-dev.txt constraints.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
		echo "gradviz needs Python 3.10 or newer, but '$(PYTHON)' is: $$($(PYTHON) --version 2>&1)"; \
		echo "Name another one, for example: make $(or $(MAKECMDGOALS),lab) PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --disable-pip-version-check --quiet -r requirements-dev.txt --editable .
	@touch $(READY)

clean:
	rm -rf $(VENV) build dist *.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache tests/artefacts

# Both take long. A part alone, which writes nothing: `make soak ARGS="--first 12000 --count 500"`, or another seed:
# `make mutants ARGS="--seed 7 --count 20"`.
mutants: $(READY)
	$(PY) tests/mutate.py $(or $(ARGS),--write)

soak: $(READY)
	$(PY) tests/soak.py $(or $(ARGS),--write)
