"""Pure rules: no SQL, sockets, files, clock or environment."""
