"""Queries for the pages of the console, one file per page. Each method is one bounded statement."""
