"""The Thrift IDL of the service, and the Python code that is generated from it."""
