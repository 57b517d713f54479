"""Operations: what each wire method declares about itself, next to its handler. Authorization, audit, log, quotas and
dispatch read these declarations; nothing else knows which fields of a call name an object.
"""
