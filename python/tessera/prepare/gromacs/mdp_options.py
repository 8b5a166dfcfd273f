"""The options of GROMACS' run parameters (.mdp), those of version 4.6 to 2025 and their older names.

GROMACS compares names and values without dashes, underscores and capitals, and so does `plain`.
"""

from __future__ import annotations

import difflib
import re


def plain(text: str) -> str:
    """Returns a name or a value as GROMACS compares it: `vdw_type` and `VDWType` are one."""
    return text.replace("-", "").replace("_", "").lower()


_NAMES = """
    include define
    integrator tinit dt nsteps init-step simulation-part mts mts-levels mts-level2-forces mts-level2-factor
    mass-repartition-factor comm-mode nstcomm comm-grps
    bd-fric ld-seed emtol emstep niter fcstep nstcgsteep nbfgscorr rtpi
    nstxout nstvout nstfout nstlog nstcalcenergy nstenergy nstxout-compressed compressed-x-precision compressed-x-grps
    energygrps
    cutoff-scheme nstlist ns-type pbc periodic-molecules verlet-buffer-tolerance verlet-buffer-pressure-tolerance rlist
    rlistlong nstcalclr
    coulombtype coulomb-modifier rcoulomb-switch rcoulomb epsilon-r epsilon-rf vdwtype vdw-modifier rvdw-switch rvdw
    DispCorr table-extension energygrp-table fourierspacing fourier-nx fourier-ny fourier-nz pme-order ewald-rtol
    ewald-rtol-lj lj-pme-comb-rule ewald-geometry epsilon-surface
    implicit-solvent gb-algorithm nstgbradii rgbradii gb-epsilon-solvent gb-saltconc gb-obc-alpha gb-obc-beta
    gb-obc-gamma gb-dielectric-offset sa-algorithm sa-surface-tension
    ensemble-temperature-setting ensemble-temperature tcoupl nsttcouple nh-chain-length
    print-nose-hoover-chain-variables tc-grps tau-t ref-t pcoupl pcoupltype nstpcouple tau-p compressibility ref-p
    refcoord-scaling
    QMMM QMMM-grps QMmethod QMMMscheme QMbasis QMcharge QMmult SH CASorbitals CASelectrons SAon SAoff SAsteps
    MMChargeScaleFactor bOPT bTS
    annealing annealing-npoints annealing-time annealing-temp gen-vel gen-temp gen-seed
    constraints constraint-algorithm continuation Shake-SOR shake-tol lincs-order lincs-iter lincs-warnangle morse
    energygrp-excl
    nwall wall-type wall-r-linpot wall-atomtype wall-density wall-ewald-zfac
    pull awh rotation IMD-group
    disre disre-weighting disre-mixed disre-fc disre-tau nstdisreout orire orire-fc orire-tau orire-fitgrp nstorireout
    free-energy couple-moltype couple-lambda0 couple-lambda1 couple-intramol init-lambda init-lambda-state delta-lambda
    nstdhdl fep-lambdas mass-lambdas coul-lambdas vdw-lambdas bonded-lambdas restraint-lambdas temperature-lambdas
    calc-lambda-neighbors init-lambda-weights init-lambda-counts init-wl-histogram-counts dhdl-print-energy sc-function
    sc-alpha sc-power sc-r-power sc-sigma sc-coul sc-gapsys-scale-linpoint-lj sc-gapsys-scale-linpoint-q
    sc-gapsys-sigma-lj dh-hist-size dh-hist-spacing separate-dhdl-file dhdl-derivatives
    acc-grps accelerate freezegrps freezedim cos-acceleration deform deform-init-flow
    simulated-tempering simulated-tempering-scaling sim-temp-low sim-temp-high
    nstexpanded lmc-stats lmc-move lmc-weights-equil weight-equil-number-all-lambda weight-equil-number-samples
    weight-equil-number-steps weight-equil-wl-delta weight-equil-count-ratio lmc-seed mc-temperature lmc-repeats
    lmc-gibbsdelta lmc-forced-nstart symmetrized-transition-matrix nst-transition-matrix mininum-var-min weight-c-range
    wl-scale wl-ratio init-wl-delta wl-oneovert
    electric-field-x electric-field-y electric-field-z E-x E-xt E-y E-yt E-z E-zt
    swapcoords swap-frequency split-group0 split-group1 massw-split0 massw-split1 swap-group solvent-group cyl0-r
    cyl0-up cyl0-down cyl1-r cyl1-up cyl1-down coupl-steps anionsA cationsA anionsB cationsB threshold iontypes
    bulk-offsetA bulk-offsetB
    adress
    user1-grps user2-grps userint1 userint2 userint3 userint4 userreal1 userreal2 userreal3 userreal4
    density-guided-simulation-active qmmm-cp2k-active colvars-active nnpot-active
    title cpp domain-decomposition andersen-seed dihre dihre-fc dihre-tau nstdihreout nstcheckpoint optimize-fft
    unconstrained-start foreign-lambda verlet-buffer-drift nstxtcout xtc-grps xtc-precision
"""
#: options by the name that GROMACS compares, as its manual spells them
KNOWN = {plain(name): name for name in _NAMES.split()}
#: settings of modules that another option switches on, which have numbers in their names or a long common beginning
_FAMILIES = re.compile(
    r"pull\w*\d+\w*|pull(cylinderr|constrtol|print\w+|nst[xf]out|pbcrefprevstepcom|[xf]outaverage|ngroups|ncoords"
    r"|geometry|dim|start)|awh\d+\w+|awh(potential|shared?\w*|seed|nstout|nstsample|nsamplesupdate|nbias)"
    r"|rot\w*\d+|rot(nstrout|nstsout|ngroups)|iontype\d+\w*|adress\w+"
    r"|(densityguidedsimulation|qmmmcp2k|colvars|nnpot)\w+"
)


def is_known(name: str) -> bool:
    """Returns whether GROMACS has an option of this plain name."""
    return name in KNOWN or _FAMILIES.fullmatch(name) is not None


def nearest(name: str) -> str:
    """Returns the option, as GROMACS spells it, that is most like an unknown one; none where no other is like it."""
    found = difflib.get_close_matches(name, KNOWN, 1)
    return KNOWN[found[0]] if found else ""
