"""Changes of files that follow changes of the catalog. Begin with `change_loop`."""
