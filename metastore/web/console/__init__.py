"""The console: read-only pages about the catalog, as HTML and as JSON."""
