"""Services that handlers call: a file for each kind of object, a transaction for each call."""
