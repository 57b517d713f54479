"""Files that belong to what the catalog says: made, moved, retired and cleaned."""
