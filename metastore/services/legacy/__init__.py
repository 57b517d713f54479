"""Rules of methods that no engine needs today. `handlers.legacy` says who calls them. Only it and `app.handlers` import
this package.
"""
