"""What operators see: figures of all workers in shared memory, pages with them, lines of the log."""
