"""Before anyone labels: where sets are finite, how large they will be, what can be certified."""
