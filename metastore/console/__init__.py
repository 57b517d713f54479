"""What the console's pages show: read from the database and the files, without objects that the caller may not see."""
