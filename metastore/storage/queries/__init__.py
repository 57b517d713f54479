"""Parts of statements that several repositories share."""
