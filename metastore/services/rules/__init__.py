"""Rules for objects before they are stored: defaults, checks and Hive's error messages."""
