"""The console on a catalog of 100,000 tables and 1,000,000 partitions: `python -m tests.bench.console`."""
