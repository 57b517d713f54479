# Two commands do everything: `make demo` and `make test`. Both make .venv first.
.DEFAULT_GOAL := help
.PHONY: help demo test quick lint bench bench-zipf crash audit image-steps spark-versions doors interop hive-tests generate clean
READY := .venv/.ready
CLASSES := .venv/class-data/spark.jsa
# Tests start hundreds of Pythons: what one has compiled the others read, also where Python is told to keep nothing.
unexport PYTHONDONTWRITEBYTECODE
# A worker for each core. Files are given out in the order of their names: the slow ones come first.
PARALLEL := --numprocesses logical --maxprocesses 4 --no-loadscope-reorder

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(READY)  ## Load real flights into a skewed table, query it with plain Spark SQL, show what was pruned
	@.venv/bin/metastore demo

test: $(CLASSES) lint  ## Run every check: ruff, mypy, and all tests
	@.venv/bin/python -m pytest $(PARALLEL)

quick: $(READY)  ## Run the tests of rules, wire and storage that start no program but one server: about two minutes
	@.venv/bin/python -m pytest $(PARALLEL) -m 'not slow' --hypothesis-profile=quick tests/architecture tests/unit tests/storage tests/wire

lint: $(READY)  ## Check style and types
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/mypy

bench: $(READY)  ## Measure beside the real Hive Metastore: make bench ARGS="--quick" (not part of the tests)
	@.venv/bin/python -W ignore -m tests.bench $(ARGS)

crash: $(READY)  ## Kill writers at every step, and let writers race: make crash ARGS="--kills 200" (not part of the tests)
	@.venv/bin/python -W ignore -m tests.bench.writing crash $(ARGS)

bench-zipf: $(READY)  ## Measure list bucketing beside other layouts; writes docs/zipf.* and the table in docs/benchmarks.md
	@.venv/bin/python -W ignore -m tests.bench.zipf $(ARGS)

audit: $(READY)  ## Look up what the image has among known vulnerabilities (not part of the tests)
	@.venv/bin/python scripts/audit.py

image-steps: $(READY)  ## Run the steps of the Dockerfile without Docker, and its server as an unprivileged user (not part of the tests)
	@.venv/bin/python scripts/image_steps.py

spark-versions: $(READY)  ## Run tests/spark on every Spark that is supported: make spark-versions ARGS="--spark 3.5" (an hour or more)
	@.venv/bin/python -m tests.spark.every_version $(ARGS)

doors: $(READY)  ## Tell 200 statements by every door and compare the rows: make doors ARGS="--spark 4.1" (not part of the tests)
	@.venv/bin/python -W ignore -m tests.spark.doors $(ARGS)

interop: $(READY)  ## Let clients from Maven Central use a server (not part of the tests)
	@.venv/bin/python -m pytest -o addopts= --import-mode=importlib -q tests/interop

hive-tests: $(READY)  ## Run Hive's own tests against a server: make hive-tests ARGS="--hive 3.1.3 TestDatabases" (not part of the tests)
	@.venv/bin/python -W ignore -m tests.interop.conformance $(ARGS)

generate: $(READY)  ## Generate thrift_idl/gen and its types anew (needs Debian's thrift-compiler)
	@thrift_idl/generate.sh
	@.venv/bin/python -m thrift_idl.stubs

clean:  ## Remove the virtual environment, caches and builds
	@rm -rf .venv build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis spark-warehouse
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Spark's classes, with which it starts in half of the time: made beside the checks of style; the tests wait for them.
$(CLASSES): $(READY)
	@timeout 300 .venv/bin/python -W ignore -m tests.fixtures.class_data >.venv/class-data.log 2>&1 &

$(READY): pyproject.toml scripts/set-up
	@scripts/set-up .venv
