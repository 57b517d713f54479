"""Statements, and parts of statements that several repositories share."""
