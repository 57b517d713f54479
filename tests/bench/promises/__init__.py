"""Attacks on a server that check the promises of docs/explanation/security.md and authorization.md."""
