"""From a query's predicate to the files that must be read."""
