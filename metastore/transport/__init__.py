"""Sockets, connections, workers. Knows nothing of Hive or Thrift methods."""
