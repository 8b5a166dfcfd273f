"""Measures how fast ranks write files to a folder, and keeps what was found in the machine file."""
