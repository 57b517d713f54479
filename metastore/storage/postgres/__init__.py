"""PostgreSQL itself: the server, connections, how statements and rows travel, what its errors mean."""
