"""Checks a database: whether the bytes that clients receive agree with the columns that queries use."""
