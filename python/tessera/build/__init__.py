"""Makes systems without input files (`water`, `nacl`) and copies of systems (`replicate`)."""
