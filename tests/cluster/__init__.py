"""A cluster on one Linux machine: hosts are namespaces, links are shaped, MPI is real. `python -m tests.cluster -h`."""
