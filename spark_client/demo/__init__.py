"""The demonstration: real flights in a skewed table, queried by plain SQL, each answer checked against the raw CSV."""
