"""Compares queries on the views of Hive's schema with the same queries on Hive's own tables."""
