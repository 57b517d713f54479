"""The demonstration: real flights in a skewed table."""
