"""The rules of a single table: directory names, skew, buckets, limits, PARTITION clauses, settings."""
