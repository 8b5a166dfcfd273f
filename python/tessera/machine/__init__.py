"""The map of a machine as people see it: text, pictures, tables. What is computed is computed in `tessera._core`."""
