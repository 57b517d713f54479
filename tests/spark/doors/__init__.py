"""The same statements through every door: a script, not part of the tests."""
