"""Draws molecules: backbones of proteins and nucleic acids, or atoms."""
