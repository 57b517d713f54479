"""Carries out what `grammar` has read, by the same nouns."""
