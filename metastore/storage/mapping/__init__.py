"""Conversion between Thrift structs and database rows, including the encoded column."""
