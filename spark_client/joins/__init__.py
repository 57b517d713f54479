"""Joins that Spark does better by what the metastore knows: heavy keys apart, buckets without a shuffle."""
