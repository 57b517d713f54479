"""Rules of Hive tables as pure functions: no SQL, sockets, files, clock or environment."""
