"""The library on file systems far away: Hadoop's own, and S3."""
