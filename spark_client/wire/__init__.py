"""A small client of the metastore: addresses with fail-over, retries, frozen dataclasses."""
