"""Consequences of changed tables and partitions, in the same transaction: statistics, skew, buckets, dependents."""
