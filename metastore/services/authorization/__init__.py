"""Rights: what a caller has, what a call needs, what may be seen."""
