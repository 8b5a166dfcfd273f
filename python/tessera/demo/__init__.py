"""Shows what Tessera does: a protein in water is prepared, minimised and simulated, on one process and on ranks."""
