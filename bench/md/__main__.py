"""`python -m bench.md QUESTION`: what a step costs, by its parts, by what is added to it and by the number of atoms."""

from bench.common.options import questions
from bench.md import costs, device, growth, largest, memory, phases, predictions, watching

main = questions(
    __doc__,
    phases.phases,
    costs.ensembles,
    costs.restraints,
    costs.four_site_water,
    costs.hooks,
    growth.growth,
    memory.memory,
    largest.largest,
    watching.watching,
    device.device,
    predictions.predictions,
)

if __name__ == "__main__":
    main()
