"""The IDL, and the Python code that Thrift generates from it."""
