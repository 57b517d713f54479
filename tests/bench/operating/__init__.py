"""Servers in difficult conditions: rolling upgrades, PostgreSQL's death, and a soak test with hostile clients."""
