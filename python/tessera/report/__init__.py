"""Writes a run up as one page of HTML that one sends to somebody: settings in words, plots, speed, files, citations."""
