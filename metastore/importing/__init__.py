"""Migration from another metastore (docs/decisions/027-imports-write-below-the-services.md)."""
