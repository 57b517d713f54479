"""Runs the same statements through every interface of Spark: a script, not part of the tests."""
