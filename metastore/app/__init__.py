"""Composition: creates the objects of each process and connects them. Only `cli` imports it."""
