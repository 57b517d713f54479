"""From a Thrift message to a Python call and back: method table, context, errors, encoding."""
