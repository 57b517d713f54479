"""Rules of one table: names of directories, skew, buckets, limits, PARTITION clauses, settings."""
