"""Thrift structs as bytes and as text, without intermediate objects."""
