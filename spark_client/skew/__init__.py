"""Heavy values: the rules of a table's skew, and what uses it beside scans: finding it, bounding it, joining by it."""
