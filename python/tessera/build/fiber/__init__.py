"""Builds fibres of nucleosomes."""
