"""Authorization and audit of each call, by what its operation declares."""
