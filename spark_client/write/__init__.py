"""Staging, list bucketing, publishing: the only room that writes data."""
