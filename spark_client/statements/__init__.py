"""SQL statements that Spark does not have. `grammar` parses them and `run` executes them, by the same module names."""
