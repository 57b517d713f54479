"""The data of the console's pages, read from the database and the files, without what the caller may not see."""
