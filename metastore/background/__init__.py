"""Timers that call services."""
