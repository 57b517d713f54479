"""Hudi's own tests of its synchronization with Hive, from Maven Central, with this server as their metastore."""
