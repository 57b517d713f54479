"""The five designs, typed line by line in the order of their documents.

Each module has the lines of one document. A placeholder of the document, such as `...`, is replaced by minimal real
text, and the document's own line is in `design`. `setup` marks statements that the document leaves to its reader.
`<location>` in a text is the directory of the current database.
"""
