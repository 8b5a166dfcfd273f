"""`python -m bench.physics QUESTION`: whether liquids and a bilayer are as published, and what drifts."""

from bench.common.options import questions
from bench.physics import bilayer, drifts, liquids

main = questions(__doc__, liquids.liquids, bilayer.bilayer, drifts.drifts)

if __name__ == "__main__":
    main()
