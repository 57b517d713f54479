"""The revisions. Each is self-contained and imports none of our modules."""
