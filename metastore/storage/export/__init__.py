"""The rows of an export: tables of Hive's schema, read from its views."""
