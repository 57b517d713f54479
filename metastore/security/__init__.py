"""Authentication: which methods each listener accepts, and how each method verifies a user."""
