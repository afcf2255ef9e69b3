"""Anything that predicts: models, functions, columns of a table, draws from a posterior."""
