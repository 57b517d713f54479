"""Servers under trouble, by command: rolling upgrades, and a soak beside hostile clients."""
