"""The way back: changes of switched databases are applied to the source through Thrift."""
