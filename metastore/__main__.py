"""Lets `python -m metastore` run the program where the script `metastore` is not on the PATH."""

from __future__ import annotations

from metastore.cli import main

main()
