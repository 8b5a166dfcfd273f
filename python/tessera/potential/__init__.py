"""Averages the electrostatic potential of a run's frames on a mesh, and writes it for other programs."""
