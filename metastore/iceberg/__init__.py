"""Iceberg's REST catalog protocol, without its transport: what each request answers."""
