"""Rights from a policy engine, and their cache. `services.authorization.policy` decides with them."""
