"""Queries, one file per noun. A repository joins its caller's transaction and never commits."""
