"""Authorization and audit of each call, by the declaration of its operation."""
