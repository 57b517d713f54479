"""Imports from other metastores: bulk loading, comparison, and the progress of imports."""
