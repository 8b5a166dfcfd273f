"""Puts Debye–Hückel charges in place of the core of a nucleosome."""
