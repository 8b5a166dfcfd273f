"""The works that a run's methods come from, which its paper would cite."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

Settings = dict[str, Any]


@dataclass(frozen=True)
class Work:
    """A work by its authors and journal, its DOI, and what a run takes from it."""

    text: str
    doi: str
    what: str


def _has(section: str, key: str, *values: Any) -> Callable[[Settings], bool]:
    """Returns what tells whether a run has one of these values."""
    return lambda settings: settings.get(section, {}).get(key) in values


def _more(key: str, least: float) -> Callable[[Settings], bool]:
    def has_more(settings: Settings) -> bool:
        found = settings.get("dynamics", {}).get(key, 0)
        return isinstance(found, int | float) and found > least

    return has_more


def _bath(thermostat: str) -> Callable[[Settings], bool]:
    return lambda settings: (
        _has("dynamics", "ensemble", "nvt", "npt")(settings) and _has("dynamics", "thermostat", thermostat)(settings)
    )


def _barostat(name: str) -> Callable[[Settings], bool]:
    return lambda settings: (
        _has("dynamics", "ensemble", "npt")(settings) and _has("dynamics", "barostat", name)(settings)
    )


#: which runs take what from which work; all are in docs/bibliography.md
WORKS: tuple[tuple[Callable[[Settings], bool], Work], ...] = (
    (_has("interactions", "electrostatics", "pme"),
     Work("U. Essmann et al., J. Chem. Phys. 103, 8577 (1995)", "10.1063/1.470117", "smooth particle-mesh Ewald")),
    (_has("interactions", "lj", "force-switch"),
     Work("P. J. Steinbach, B. R. Brooks, J. Comput. Chem. 15, 667 (1994)", "10.1002/jcc.540150702",
          "switch of forces")),
    (_has("dynamics", "integrator", "velocity-verlet"),
     Work("W. C. Swope et al., J. Chem. Phys. 76, 637 (1982)", "10.1063/1.442716", "velocity Verlet")),
    (_has("dynamics", "integrator", "leapfrog"),
     Work("R. W. Hockney, S. P. Goel, J. W. Eastwood, J. Comput. Phys. 14, 148 (1974)",
          "10.1016/0021-9991(74)90010-2", "leapfrog")),
    (_more("mesh_every", 1),
     Work("M. Tuckerman, B. J. Berne, G. J. Martyna, J. Chem. Phys. 97, 1990 (1992)", "10.1063/1.463137",
          "several time steps")),
    (_has("dynamics", "constraints", "h-bonds", "all-bonds"),
     Work("J.-P. Ryckaert, G. Ciccotti, H. J. C. Berendsen, J. Comput. Phys. 23, 327 (1977)",
          "10.1016/0021-9991(77)90098-5", "bonds of fixed length")),
    (_has("dynamics", "constraints", "h-bonds", "all-bonds"),
     Work("S. Miyamoto, P. A. Kollman, J. Comput. Chem. 13, 952 (1992)", "10.1002/jcc.540130805", "rigid water")),
    (_more("hydrogen_mass", 0),
     Work("K. A. Feenstra, B. Hess, H. J. C. Berendsen, J. Comput. Chem. 20, 786 (1999)",
          "10.1002/(SICI)1096-987X(199906)20:8<786::AID-JCC5>3.0.CO;2-B", "heavy hydrogens")),
    (_bath("bussi"),
     Work("G. Bussi, D. Donadio, M. Parrinello, J. Chem. Phys. 126, 014101 (2007)", "10.1063/1.2408420",
          "stochastic velocity rescaling")),
    (_bath("nose-hoover"),
     Work("G. J. Martyna, M. E. Tuckerman, D. J. Tobias, M. L. Klein, Mol. Phys. 87, 1117 (1996)",
          "10.1080/00268979600100761", "Nosé–Hoover chains")),
    (_bath("langevin"),
     Work("B. Leimkuhler, C. Matthews, J. Chem. Phys. 138, 174102 (2013)", "10.1063/1.4802990", "Langevin dynamics")),
    (_bath("berendsen"),
     Work("H. J. C. Berendsen et al., J. Chem. Phys. 81, 3684 (1984)", "10.1063/1.448118", "weak coupling")),
    (_barostat("c-rescale"),
     Work("M. Bernetti, G. Bussi, J. Chem. Phys. 153, 114107 (2020)", "10.1063/5.0020514",
          "stochastic cell rescaling")),
    (_barostat("mtk"),
     Work("G. J. Martyna, D. J. Tobias, M. L. Klein, J. Chem. Phys. 101, 4177 (1994)", "10.1063/1.467468",
          "constant pressure")),
    (_barostat("monte-carlo"),
     Work("J. Åqvist et al., Chem. Phys. Lett. 384, 288 (2004)", "10.1016/j.cplett.2003.12.039",
          "Monte Carlo barostat")),
    (_barostat("berendsen"),
     Work("H. J. C. Berendsen et al., J. Chem. Phys. 81, 3684 (1984)", "10.1063/1.448118", "weak coupling")),
)  # fmt: skip


def works(runs: list[Settings]) -> Iterator[Work]:
    """Yields the works that any of these runs takes something from, each once."""
    seen = set()
    for takes, work in WORKS:
        if work.doi not in seen and any(takes(settings) for settings in runs):
            seen.add(work.doi)
            yield work
