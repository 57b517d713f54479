"""Metrics, log lines and tracing."""
