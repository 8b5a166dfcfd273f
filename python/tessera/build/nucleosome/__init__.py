"""Builds nucleosomes from structures."""
