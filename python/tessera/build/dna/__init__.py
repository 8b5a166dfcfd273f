"""Builds and analyses double helices of DNA."""
