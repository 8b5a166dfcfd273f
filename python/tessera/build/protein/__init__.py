"""Builds proteins in CHARMM36 from structures that may lack atoms, and from sequences."""
