"""Emulates a cluster on one Linux machine: hosts are namespaces, links have limited rates, and MPI is real."""
