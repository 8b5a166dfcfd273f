"""`python -m bench.build QUESTION`: what building atoms costs."""

from bench.build import clashes, locus
from bench.common.options import questions

main = questions(__doc__, clashes.clashes, locus.locus)

if __name__ == "__main__":
    main()
