"""The tables of the database, one file per noun."""
