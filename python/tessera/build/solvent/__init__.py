"""Puts molecules into water with ions."""
