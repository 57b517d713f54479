"""A source that writers change all the time, while followers, servers and the source are killed at random."""
