"""Options of `tessera build` that fill a file of their own."""
