"""Shows the map of a machine as text, pictures and tables. `tessera._core` does all computations."""
