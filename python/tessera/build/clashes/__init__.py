"""Finds atoms that are in the same place, bonds through rings and knots, and turns groups until no two atoms clash."""
