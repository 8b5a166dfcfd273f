"""Coordinates and topologies in the formats of other programs, from a system file or what a run has written.

`configuration` finds the atoms at one moment, `structure` gives them names and puts molecules together, `formats` and
`psf` write them.
"""
