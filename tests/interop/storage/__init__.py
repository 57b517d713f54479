"""The library on remote file systems: Hadoop's own, and S3."""
