"""Handlers: one short function per wire method, which passes its arguments to a service, below the operation that it
declares.
"""
