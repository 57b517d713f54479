"""Checks a database: whether the bytes that clients are sent say what the columns say that queries find."""
