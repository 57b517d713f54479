"""Operations: the declarations of wire methods, next to their handlers. Authorization, audit, log, quotas and
dispatch read these declarations; nothing else knows which fields of a call name an object.
"""
