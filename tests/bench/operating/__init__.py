"""Servers in difficult conditions: rolling upgrades, restarts, and fail-overs that lose commits."""
