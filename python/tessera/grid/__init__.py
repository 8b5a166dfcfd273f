"""Stencils on real-space grids that are distributed over the ranks of an MPI communicator.

    grid = Grid((96, 96, 96), cell=(20.0, 20.0, 20.0), comm=MPI.COMM_WORLD)
    laplace = grid.operator(grid.laplacian(order=4))
    out = laplace(fields)                    # (B, nx, ny, nz): this rank's points of B fields

Stencils and potentials have the same bits on any number of ranks and threads, by any approach and batch, and on any
processor; eigenstates on all ranks of one job. It needs the compiled part of Tessera for the MPI that mpi4py uses;
without a communicator it needs neither.
"""

from tessera.grid.distributed import Grid, Operator, Transfer, approaches, poisson_methods
from tessera.grid.eigen import Eigenstates
from tessera.grid.errors import GridError
from tessera.grid.poisson import Poisson
from tessera.grid.stencil import Stencil

__all__ = [
    "Eigenstates",
    "Grid",
    "GridError",
    "Operator",
    "Poisson",
    "Stencil",
    "Transfer",
    "approaches",
    "poisson_methods",
]
