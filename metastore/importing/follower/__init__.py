"""Following a source: its changes arrive here until the databases are switched."""
