"""The entry services: one noun a file, one call a transaction."""
