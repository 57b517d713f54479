"""Metastores that are read: through Thrift, or their database."""
