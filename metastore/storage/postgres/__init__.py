"""PostgreSQL itself: the server, connections, the transfer of statements and rows, the meaning of errors."""
