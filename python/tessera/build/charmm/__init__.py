"""Builds molecules from the residues and patches of CHARMM's topologies."""
