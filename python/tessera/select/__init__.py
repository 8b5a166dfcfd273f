"""Selections of atoms in the language of MDAnalysis, and what they come to in a run.

`universe` finds the atoms of a selection, `resolve` those of all selections of a run file, `run` hands them to the
engine.
"""
