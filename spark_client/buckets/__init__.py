"""Bucketed tables as Hive, Trino and we agree on them: the hash, the names of files, and the rules of directories."""
