"""Changes inputs at random in ways whose effect is known, or that must be refused."""

from __future__ import annotations

import math
import random
import string
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.convert import test_amber, test_genesis, test_gromacs, test_namd


@dataclass(frozen=True)
class Number:
    """An option with a number: the key of the run file that follows from it alone, by a factor or by its inverse, and
    the range from which values are drawn."""

    option: str
    key: str
    factor: float
    low: float
    high: float
    inverse: bool = False

    @property
    def is_whole(self) -> bool:
        return self.low >= 1 and float(self.low).is_integer() and self.factor == 1 and self.high >= 10 * self.low

    def drawn(self, chance: random.Random) -> str:
        if self.is_whole:
            return str(chance.randint(int(self.low), int(self.high)))
        exponent = chance.uniform(math.log(self.low), math.log(self.high))
        return f"{math.exp(exponent):.{chance.randint(2, 6)}g}"

    def effect(self, text: str) -> float:
        number = float(text)
        return 1 / number if self.inverse else self.factor * number


@dataclass(frozen=True)
class Format:
    """How a program's input is written: its text, what sets an option in it, its numbers, and its comments."""

    text: str
    changed: Callable[[str, str], str]
    numbers: tuple[Number, ...]
    comment: str
    assignment: str  # between a name and its value
    prefix: str = ""  # of an option that is not known
    shuffles: bool = False  # lines may stand in any order
    doubled: str = ""  # a line that gives an option again, with another value


N = Number
FORMATS = {
    "gromacs": Format(
        test_gromacs.WATER, test_gromacs.changed,
        (
            N("dt", "dynamics.timestep", 1000, 0.0005, 0.003), N("nsteps", "dynamics.steps", 1, 1, 10**8),
            N("nstcomm", "dynamics.com_removal_every", 1, 1, 1000), N("nstenergy", "output.energy_every", 1, 1, 10**5),
            N("rvdw", "interactions.cutoff", 10, 0.6, 0.99), N("rcoulomb", "pme.cutoff", 10, 1.01, 1.6),
            N("fourierspacing", "pme.spacing", 10, 0.06, 0.2), N("ewald-rtol", "pme.tolerance", 1.0000001, 1e-7, 1e-3),
            N("tau-t", "dynamics.tau_t", 1.0000001, 0.3, 20), N("tau-p", "dynamics.tau_p", 1.0000001, 0.5, 20),
            N("ref-p", "dynamics.pressure", 1.0000001, 0.1, 100),
            N("compressibility", "dynamics.compressibility", 1.0000001, 1e-6, 1e-4),
            N("gen-seed", "dynamics.seed", 1, 1, 10**6),
        ),
        ";", "=", shuffles=True, doubled="dt = 0.0011",
    ),
    "namd": Format(
        test_namd.WATER, test_namd.changed,
        (
            N("timestep", "dynamics.timestep", 1.0000001, 0.5, 4), N("numsteps", "dynamics.steps", 1, 1, 10**8),
            N("PMEGridSpacing", "pme.spacing", 1.0000001, 0.5, 2), N("seed", "dynamics.seed", 1, 1, 10**6),
            N("switchdist", "interactions.switch", 1.0000001, 5, 8.9),
            N("dcdfreq", "output.trajectory_every", 1, 1, 10**5),
            N("langevinDamping", "dynamics.tau_t", 1, 0.1, 50, inverse=True),
        ),
        "#", " ", doubled="timestep 1.1",
    ),
    "amber": Format(
        test_amber.WATER, test_amber.changed,
        (
            N("nstlim", "dynamics.steps", 1, 1, 10**8), N("dt", "dynamics.timestep", 1000, 0.0005, 0.004),
            N("gamma_ln", "dynamics.tau_t", 1, 0.1, 50, inverse=True),
            N("pres0", "dynamics.pressure", 1.0000001, 0.1, 100), N("ntpr", "output.energy_every", 1, 1, 10**5),
            N("ig", "dynamics.seed", 1, 1, 10**6),
        ),
        "!", "=", doubled="  dt = 0.0011,",
    ),
    "genesis": Format(
        test_genesis.WATER, test_genesis.changed,
        (
            N("dynamics.timestep", "dynamics.timestep", 1000, 0.0005, 0.004),
            N("dynamics.nsteps", "dynamics.steps", 1, 1, 10**8), N("dynamics.iseed", "dynamics.seed", 1, 1, 10**6),
            N("dynamics.eneout_period", "output.energy_every", 1, 1, 10**5),
            N("energy.switchdist", "interactions.switch", 1.0000001, 5, 8.9),
            N("energy.pme_max_spacing", "pme.spacing", 1.0000001, 0.5, 2),
            N("ensemble.tau_t", "dynamics.tau_t", 1.0000001, 0.1, 20),
            N("ensemble.pressure", "dynamics.pressure", 1.01325, 0.1, 100),
            N("ensemble.temperature", "dynamics.temperature", 1.0000001, 10, 999),
        ),
        "#", "=", prefix="dynamics.", doubled="timestep = 0.0011",
    ),
}  # fmt: skip
_NOT_FINITE = ("nan", "inf", "-inf", "1e999", "-1e400", "infinity", "NaN")
_NO_NUMBER = ("", "water", "1,5", "0x10", "1_0", "--1", "1e", "$none", "1.5.2", "²")


@dataclass(frozen=True)
class Mutant:
    """A changed input: the keys that must differ and their values, or none where it must be refused. `what` says what
    was done."""

    text: str
    what: str
    effect: dict[str, float] | None


def mutant(program: str, chance: random.Random) -> Mutant:
    """Returns an input with a change of a kind drawn at random."""
    form = FORMATS[program]
    return chance.choice((_value, _value, _layout, _unknown, _wrong_type, _not_finite, _twice, _negative))(form, chance)


def _value(form: Format, chance: random.Random) -> Mutant:
    number = chance.choice(form.numbers)
    text = number.drawn(chance)
    return Mutant(form.changed(number.option, text), f"{number.option} = {text}", {number.key: number.effect(text)})


def _layout(form: Format, chance: random.Random) -> Mutant:
    """Adds comments and blanks, and changes the order and the capitals of lines where these mean nothing."""
    lines = form.text.splitlines()
    if form.shuffles and chance.random() < 0.5:
        chance.shuffle(lines)
    for n, line in enumerate(lines):
        is_plain = (
            bool(line.strip())
            and line.strip()[0] not in "&/[{}"
            and n > 0
            and "$" not in line
            and line.split()[0] not in ("set", "if")
        )
        if is_plain and form.assignment in line and chance.random() < 0.3 and "{" not in line:
            name, sign, rest = line.strip().partition(form.assignment)
            lines[n] = f"{' ' * chance.randint(0, 3)}{name.swapcase()}{sign}{' ' * chance.randint(0, 4)}{rest}"
        if is_plain and chance.random() < 0.1 and not line.rstrip().endswith("{"):
            lines[n] += f" {' ;' if form.assignment == ' ' else ''}{form.comment} dt = 5"
    return Mutant("\n".join(lines) + "\n" * chance.randint(1, 3), "another layout", {})


def _unknown(form: Format, chance: random.Random) -> Mutant:
    name = "zq" + "".join(chance.choices(string.ascii_lowercase, k=chance.randint(2, 10)))
    return Mutant(form.changed(f"{form.prefix}{name}", "1"), f"unknown {name}", None)


def _wrong_type(form: Format, chance: random.Random) -> Mutant:
    number, text = chance.choice(form.numbers), chance.choice(_NO_NUMBER)
    return Mutant(form.changed(number.option, text), f"{number.option} = {text!r}", None)


def _not_finite(form: Format, chance: random.Random) -> Mutant:
    number, text = chance.choice(form.numbers), chance.choice(_NOT_FINITE)
    return Mutant(form.changed(number.option, text), f"{number.option} = {text}", None)


def _negative(form: Format, chance: random.Random) -> Mutant:
    """Gives a length, a time or a number of steps a sign; a seed may have one, which then means another thing."""
    number = chance.choice([one for one in form.numbers if "seed" not in one.key and "pressure" not in one.key])
    text = f"-{number.drawn(chance)}"
    return Mutant(form.changed(number.option, text), f"{number.option} = {text}", None)


def _twice(form: Format, chance: random.Random) -> Mutant:
    at = chance.choice([n for n, line in enumerate(form.text.splitlines()) if _says_step(line)])
    lines = form.text.splitlines()
    lines.insert(at, form.doubled)
    return Mutant("\n".join(lines) + "\n", "an option twice", None)


def _says_step(line: str) -> bool:
    words: Any = line.replace("=", " ").split()
    return bool(words) and words[0].lower() in ("dt", "timestep", "nstlim")
