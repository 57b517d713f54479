"""Authorization: what callers were granted, what their calls require, what they may see."""
