"""Thrift structs as bytes and as text, without an object in between."""
