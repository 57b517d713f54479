"""The rules, and the boundary of the transaction."""
