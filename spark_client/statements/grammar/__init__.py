"""Parses the text of a statement to a frozen dataclass. Pure: no Spark, no metastore."""
