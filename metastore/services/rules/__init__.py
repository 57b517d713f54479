"""Rules of what is stored: complete, well-formed, named as Hive does. They decide and fill in; they store nothing."""
