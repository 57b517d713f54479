"""Reads Hive tables without Spark: the current files of a table, and an Arrow dataset of them. Needs pyarrow.

The client touches files only here, and only to read them. See docs/how-to/read-with-python.md.
"""
