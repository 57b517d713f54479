"""Spark's own tests of its Hive catalog, from Maven Central, with this server as their metastore."""
