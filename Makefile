# Start with `make demo`, `make test` or `make docs`. Each creates .venv first.
.DEFAULT_GOAL := help
.PHONY: $(shell sed -n "s|^\([a-z-]*\):.*|\1|p" $(MAKEFILE_LIST))
READY := .venv/.ready
DEMO_READY := .venv/.ready-demo
CLASSES := .venv/class-data/spark.jsa
# Tests start hundreds of Python processes, which share compiled bytecode. Without it they start half as fast.
unexport PYTHONDONTWRITEBYTECODE
# One worker more than cores, at most four. Test files are scheduled in the order that tests/fixtures/parallel.py sets: slow files first.
PARALLEL := --numprocesses logical --maxprocesses 4 --no-loadscope-reorder

RERUN := Failed tests run once more, one at a time. A test that passes now depends on timing: report it as a defect.

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(DEMO_READY)  ## Load real flights into a skewed table, query it with plain Spark SQL, show what was pruned
	@.venv/bin/metastore demo

test: $(CLASSES)  ## Run every check: ruff, mypy, the documentation build and all tests
	@$(MAKE) --no-print-directory --jobs=3 --output-sync=target lint docs collect
	@# The cache is cleared: a run that fails before its first test must not repeat the failures of an earlier run instead.
	@.venv/bin/python -m pytest $(PARALLEL) --cache-clear || { [ $$? -eq 1 ] && echo "$(RERUN)" && .venv/bin/python -m pytest --last-failed; }

long: $(CLASSES)  ## Run the tests that are too long for make test: further formats and versions, benchmarks at their smallest size
	@.venv/bin/python -m pytest $(PARALLEL) -m long

quick: $(READY)  ## Run the fast tests of rules, wire protocol and storage, about four minutes on two cores
	@.venv/bin/python -m pytest $(PARALLEL) -m 'not slow and not long' --hypothesis-profile=quick tests/architecture tests/unit tests/storage tests/wire

lint: $(READY)  ## Check style and types
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/mypy
	@git ls-files '*.py' ':!thrift_idl/gen' | xargs wc -l | awk '$$1 > 400 && $$2 != "total" { print "hint: " $$2 " has " $$1 " lines" }'

# Compiles all tests once, with pytest's assertions. In a new clone, each worker would do so.
collect: $(READY)
	@said=$$(.venv/bin/python -m pytest --collect-only -qq) || { echo "$$said"; exit 1; }

# The two variables silence announcements of other projects.
docs: $(READY)  ## Build the documentation site into build/site; warnings and broken links fail
	@NO_MKDOCS_2_WARNING=1 DISABLE_MKDOCS_2_WARNING=true .venv/bin/python -W ignore -m mkdocs build --strict --quiet -f scripts/site/mkdocs.yml

bench: $(READY)  ## Measure beside the real Hive Metastore: make bench ARGS="--quick" (not part of the tests)
	@.venv/bin/python -W ignore -m tests.bench $(ARGS)

bench-sql: $(READY)  ## Compare queries of public tools on the views of Hive's schema and on Hive's own tables (not part of the tests)
	@.venv/bin/python -W ignore -m tests.bench.hive_sql $(ARGS)

bench-advice: $(READY)  ## Record queries of three tables, make the advised layouts, and compare predicted with read bytes (not part of the tests)
	@.venv/bin/python -W ignore -m tests.bench.advice $(ARGS)

bench-scan-record: $(READY)  ## Measure the processor time that the record of scans adds to plan_scan (not part of the tests)
	@.venv/bin/python -W ignore -m tests.bench.scan_record $(ARGS)

crash: $(READY)  ## Kill writers at every step and run writers concurrently: make crash ARGS="--kills 200" (not part of the tests)
	@.venv/bin/python -W ignore -m tests.bench.writing crash $(ARGS)

bench-iceberg: $(READY)  ## Time loads and commits of Iceberg tables by REST (not part of the tests)
	@.venv/bin/python -W ignore -m tests.bench.iceberg_rest $(ARGS)

care-kills: $(READY)  ## Kill programs that care for tables beside writers and readers: make care-kills ARGS="--kills 200" (not part of the tests)
	@.venv/bin/python -W ignore -m tests.bench.writing care $(ARGS)

bench-zipf: $(READY)  ## Compare list bucketing with other layouts; writes the figures of docs/benchmarks.md
	@.venv/bin/python -W ignore -m tests.bench.zipf $(ARGS)

faults: $(READY)  ## Kill workers and lose COMMITs at every step of file operations: make faults ARGS="kills" (not part of the tests)
	@.venv/bin/python -W ignore -m tests.bench.faults $(ARGS)

outages: $(READY)  ## Upgrade, restart and fail over under writers: make outages ARGS="rolling --from COMMIT" (not part of the tests)
	@.venv/bin/python -W ignore -m tests.bench.operating $(ARGS)

two-doors: $(READY)  ## Kill servers and writers of one Iceberg table, by REST, PyIceberg and Java: make two-doors ARGS="--kills 200" (not part of the tests)
	@.venv/bin/python -W ignore -m tests.bench.two_doors $(ARGS)

bench-sinks: $(READY)  ## Send events to a webhook and Kafka under kills: make bench-sinks ARGS="soak --events 100000 --kafka" (not part of the tests)
	@.venv/bin/python -W ignore -m tests.bench.sinks $(ARGS)

promises: $(READY)  ## Attack a server with TLS and grants, and check each promise of the security pages
	@.venv/bin/python -W ignore -m tests.bench.promises $(ARGS)

random-sql: $(READY)  ## Compare random statements through four interfaces with SQLite: make random-sql ARGS="--seed 7" (not part of the tests)
	@.venv/bin/python -W ignore -m tests.bench.random_sql $(ARGS)

readers: $(CLASSES)  ## Compare 200 random tables, read by Spark and by Arrow, and read beside 200 overwrites (not part of the tests)
	@READERS_TABLES=$${READERS_TABLES:-200} READERS_OVERWRITES=$${READERS_OVERWRITES:-200} .venv/bin/python -m pytest -q tests/spark/test_readers.py tests/wire/reading/test_snapshot.py

audit: $(READY)  ## Check the image's packages for known vulnerabilities (not part of the tests)
	@.venv/bin/python scripts/audit.py

image-steps: $(READY)  ## Run the Dockerfile's steps without Docker and start its server as an unprivileged user (not part of the tests)
	@.venv/bin/python scripts/image_steps.py

spark-versions: $(READY)  ## Run tests/spark on every supported Spark version: make spark-versions ARGS="--spark 3.5" (an hour or more)
	@.venv/bin/python -m tests.spark.every_version $(ARGS)

spark-interfaces: $(READY)  ## Run 200 statements in a session, over Spark Connect and JDBC, and compare the rows: make spark-interfaces ARGS="--spark 4.1" (not part of the tests)
	@.venv/bin/python -W ignore -m tests.spark.every_interface $(ARGS)

interop: $(READY)  ## Run clients from Maven Central against a server (not part of the tests)
	@.venv/bin/python -m pytest -o addopts= --import-mode=importlib -q tests/interop

integrations: $(READY)  ## Run Airflow and other programs from PyPI against a server (not part of the tests)
	@.venv/bin/python -m pytest -o addopts= --import-mode=importlib -q tests/integrations

hive-tests: $(READY)  ## Run Hive's own tests against a server: make hive-tests ARGS="--hive 3.1.3 TestDatabases" (not part of the tests)
	@.venv/bin/python -W ignore -m tests.interop.conformance $(ARGS)

generate: $(READY)  ## Regenerate thrift_idl/gen and its type stubs (needs Debian's thrift-compiler)
	@thrift_idl/generate.sh
	@.venv/bin/python -m thrift_idl.stubs

clean:  ## Remove the virtual environment, caches and builds
	@rm -rf .venv build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis spark-warehouse
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A class-data archive halves Spark's start time. It is built in the background; the tests wait for it.
$(CLASSES): $(READY)
	@timeout 300 .venv/bin/python -W ignore -m tests.fixtures.class_data >.venv/class-data.log 2>&1 &

$(READY): pyproject.toml scripts/set-up
	@scripts/set-up .venv test

$(DEMO_READY): pyproject.toml scripts/set-up
	@scripts/set-up .venv demo
