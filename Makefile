# Two commands: `make lab` opens the notebooks, `make test` runs every test. Each installs what it needs into .venv,
# once: `make lab` what opening the notebooks takes, `make test` and `make lint` the rest on top of it. They install again
# only when the pins or the package's own metadata have changed.

PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
LAB    := $(VENV)/.lab
DEV    := $(VENV)/.dev
MODELS := $(VENV)-models
NEWS   := @jupyterlab/apputils-extension:announcements
PIP    := $(PY) -m pip install --disable-pip-version-check --quiet

# Compiled once, and not again in each of the hundred processes that the tests start.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help lab site slides test notebooks gallery frontend front-ends lint format clean mutants soak soak-outlines soak-tests soak-why

help:
	@echo "make lab       open JupyterLab at the course's start page"
	@echo "make test      run every test: unit, golden, property, doctest, notebooks, browser; of long rows of cases a sample"
	@echo "make notebooks run the notebooks alone, in random order"
	@echo "make gallery   draw the pictures of models, small and real: docs/gallery.md"
	@echo "make site      write the live scenarios as pages, with handouts for a class"
	@echo "make slides    write notebook 00 as slides that need no network: build/slides"
	@echo "make frontend  build the scripts that the browser is given from frontend/src"
	@echo "make front-ends try other front ends than JupyterLab, as a reader would: docs/front_ends.md"
	@echo "make lint      ruff and mypy"
	@echo "make format    let ruff lay out the code"
	@echo "make mutants   change the code on purpose and count what no test notices: docs/mutants.md"
	@echo "make soak      20,000 random programs, of which PyTorch is the judge: docs/soak.md;"
	@echo "               1,000 random models, drawn (make soak-outlines): docs/soak_outlines.md;"
	@echo "               every real question that was answered right (make soak-why): docs/why-trial.md;"
	@echo "               all of what make test runs a sample of (make soak-tests): docs/soak_tests.md"
	@echo "make clean     remove the environment and everything that the tools made"

# What is saved keeps its pictures: a live view is known to its kernel alone.
lab: $(LAB)
	$(PY) -m jupyterlab --LabApp.default_url="/lab/tree/notebooks/index.ipynb" \
		--ContentsManager.pre_save_hook=gradviz.notebook.saving.keep_pictures \
		$(if $(filter 0,$(shell id -u)),--allow-root)

# Every live scenario as a page that opens from disk, with an index and what a class needs: build/site/index.html
site: $(LAB)
	$(PY) -m course.site

# Slides of notebook 00, each file with reveal.js in it; that comes with the packages of frontend/package-lock.json.
slides: $(DEV)
	$(PY) -m course.slide_pages

# Pictures of the small models in tests/outline, and of those of gallery/models: docs/gallery.md. What the second take has an
# environment of its own, so that no test needs it.
gallery: $(DEV) $(MODELS)/.models
	$(PY) -m gallery small
	$(MODELS)/bin/python -m gallery real

# loadscope keeps the cells of one notebook, and the tests of one module, in order on one worker. In the order in which they
# are found: the browser's come first, which take longest, and the notebooks, which take equally long, last.
# Three workers keep two cores busy: in a browser tests wait more than they work.
WORKERS ?= 3
# Each computes in one thread: for tensors as small as the tests', threads on a busy machine wait for each other.
PYTEST = OMP_NUM_THREADS=1 $(PY) -m pytest -n $(WORKERS) --dist loadscope --no-loadscope-reorder --nbval --nbval-current-env --nbval-cell-timeout 600 \
	--nbval-sanitize-with tests/nbval_sanitize.cfg
# No notebook may lean on another one, nor on what an earlier run of it left: in random order.
SHUFFLE = import glob, random; books = sorted(glob.glob("notebooks/*.ipynb")); random.shuffle(books); print(*books)
# `make test ARGS=--everything` runs every case, and not a seeded sample of long rows of cases: tests/sampling.py.
test: $(DEV)
	books=$$($(PY) -c '$(SHUFFLE)') && echo "$$books" && \
	$(PYTEST) tests gradviz course README.md docs/using.md docs/why.md $$books $(ARGS)

notebooks: $(DEV)
	books=$$($(PY) -c '$(SHUFFLE)') && echo "$$books" && $(PYTEST) $$books $(ARGS)

# What it writes is committed, so neither `make lab` nor pip needs Node. Node comes as a wheel of requirements-dev.txt, and
# its packages from frontend/package-lock.json; a test builds again and compares.
frontend: $(DEV)
	$(PY) frontend/run.py words
	$(PY) frontend/run.py build

# Opens gradviz in other front ends, each in an environment of its own, clicks and looks: docs/front_ends.md
front-ends: $(DEV)
	$(PY) tests/front_ends/try_front_ends.py $(or $(ARGS),--write)

lint: $(DEV)
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

format: $(DEV)
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix .

$(LAB): requirements.txt constraints.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
		echo "gradviz needs Python 3.10 or newer, but '$(PYTHON)' is: $$($(PYTHON) --version 2>&1)"; \
		echo "Name another one, for example: make $(or $(MAKECMDGOALS),lab) PYTHON=python3.12"; exit 1; }
	@echo "Installing JupyterLab, PyTorch and gradviz into $(VENV): about 1.3 GB, some minutes."
	@[ "$$(uname)" != Linux ] || echo "Where pip takes PyTorch's CUDA build, several GB more; README.md says how to avoid it."
	$(PYTHON) -m venv $(VENV)
	$(PIP) -r requirements.txt --editable .
	@# or a question about news would stand over the first page
	@$(PY) -m jupyterlab.labextensions disable --level=sys_prefix $(NEWS) >/dev/null
	@touch $(LAB)

$(DEV): $(LAB) requirements-dev.txt
	@echo "Installing what the tests need on top of it: about 0.6 GB, a minute or two."
	$(PIP) -r requirements-dev.txt
	@touch $(DEV)

$(MODELS)/.models: requirements.txt requirements-models.txt constraints.txt
	@echo "Installing PyTorch, transformers, diffusers, peft, Lightning and torchvision into $(MODELS): about 1.6 GB."
	$(PYTHON) -m venv $(MODELS)
	$(MODELS)/bin/python -m pip install --disable-pip-version-check --quiet -r requirements-models.txt --editable .
	@touch $@

clean:
	rm -rf $(VENV) $(MODELS) build dist *.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache tests/artefacts frontend/node_modules

# Both take long. A part alone, which writes nothing: `make soak ARGS="--first 12000 --count 500"`, or another seed:
# `make mutants ARGS="--seed 7 --count 20"`.
mutants: $(DEV)
	$(PY) tests/mutate.py $(or $(ARGS),--write)

soak: $(DEV) soak-outlines soak-tests soak-why
	$(PY) tests/soak.py $(or $(ARGS),--write)

soak-outlines: $(DEV)
	PYTHONPATH=tests/outline $(PY) tests/outline/soak_outlines.py $(or $(ARGS),--write)

soak-tests: $(DEV)
	$(PY) tests/soak_tests.py --write

soak-why: $(DEV)
	$(PY) tests/why/real_trial.py all --check
