"""Joins that use the metastore's knowledge: heavy keys are joined separately, bucketed tables without a shuffle."""
