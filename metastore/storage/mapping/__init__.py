"""Thrift structs to rows and encoded fragments, and back."""
