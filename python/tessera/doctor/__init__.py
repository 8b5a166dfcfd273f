"""Looks at what a machine has for Tessera, whether what is installed works, and what to mend.

Each file here looks at one thing. A check returns findings; to add one, write a function and name it in `CHECKS` of
`checks.py`.
"""
