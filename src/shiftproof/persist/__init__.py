"""Saved files: what is written, what has to be given again, and what may be read back."""
