"""`python -m bench.build QUESTION`: what building atoms costs."""

from bench.build import clashes
from bench.common.options import questions

main = questions(__doc__, clashes.clashes)

if __name__ == "__main__":
    main()
