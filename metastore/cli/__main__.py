"""`python -m metastore.cli`: the same program where no script is on the PATH."""

from __future__ import annotations

from metastore.cli import main

main()
