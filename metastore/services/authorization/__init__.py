"""Authorization: the grants of callers, the check of their calls, the objects that they may see."""
