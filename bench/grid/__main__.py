"""`python -m bench.grid QUESTION`: stencils, potentials and eigenstates on grids, and all of them under GPAW."""

from bench.common.options import questions
from bench.grid import eigen, gpaw, poisson, stencil

main = questions(__doc__, stencil.stencil, poisson.poisson, eigen.eigen, gpaw.gpaw)

if __name__ == "__main__":
    main()
