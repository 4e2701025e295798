"""Shares aggregates in Spark through phantoms."""
