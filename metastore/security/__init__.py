"""Who comes in: what listeners ask, and how each method of authentication is proved."""
