"""What the command line starts in a process of its own."""
