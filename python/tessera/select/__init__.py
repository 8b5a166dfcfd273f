"""Selections of atoms in the language of MDAnalysis, for runs too.

`universe` finds the atoms of a selection, `resolve` those of all selections of a run file, `run` hands them to the
engine. `grammar` turns selections of other programs into that language.
"""
