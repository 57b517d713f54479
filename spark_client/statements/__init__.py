"""The Hive statements that Spark's own parser refuses: text to frozen dataclass."""
