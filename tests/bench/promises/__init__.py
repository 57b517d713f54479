"""What docs/explanation/security.md and authorization.md promise, checked by attacks on a server."""
