"""Random statements by several clients at the same time, compared with rows in SQLite."""
