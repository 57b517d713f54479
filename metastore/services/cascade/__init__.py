"""What follows a change of tables and partitions inside the same transaction: statistics, skew, buckets, dependents."""
