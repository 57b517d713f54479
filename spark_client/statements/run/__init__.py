"""Executes the statements that `grammar` parses, by the same module names."""
