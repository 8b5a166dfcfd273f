"""Systems made from nothing (`water`, `nacl`) and systems made of copies (`replicate`)."""
