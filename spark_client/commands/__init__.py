"""Programs that the `metastore` command line starts in processes of their own."""
