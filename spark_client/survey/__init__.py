"""Looks into tables: which values are heavy, and whether files and rows of bucketed tables are in order."""
