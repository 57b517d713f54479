"""Examines tables: their heavy values, and the files and rows of bucketed tables."""
