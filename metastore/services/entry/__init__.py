"""Services that handlers and timers call: a file for each kind of object, a transaction for each call."""
