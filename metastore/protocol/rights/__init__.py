"""Which rights each method needs, and what of its answer who sees: the one place where that is decided."""
