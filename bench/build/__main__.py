"""`python -m bench.build QUESTION`: what building atoms costs."""

from bench.build import array, clashes, locus
from bench.common.options import questions

main = questions(__doc__, array.array, clashes.clashes, locus.locus)

if __name__ == "__main__":
    main()
