"""Names and values in GROMACS' run parameters, however they are written."""

import itertools
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tessera.errors import InputError
from tessera.prepare.gromacs.mdp import RunParameters, read_mdp
from tessera.prepare.gromacs.mdp_options import KNOWN, is_known, nearest
from tessera.system import ALL_PAIRS, LennardJones

OPTIONS = {
    "vdwtype": "Cut-off", "vdw-modifier": "Force-switch", "rvdw": "1.2", "rvdw-switch": "0.8", "DispCorr": "EnerPres",
    "free-energy": "no", "epsilon-r": "1", "coulombtype": "PME", "rcoulomb": "1.2", "pbc": "xyz",
}  # fmt: skip
EXPECTED = RunParameters(LennardJones("force-switch-gromacs", 12.0, 8.0, True), takes_state_a=True, is_flexible=True)


def _read(folder: Path, text: str) -> RunParameters:
    path = folder / "run.mdp"
    path.write_text(text)
    return read_mdp(path)


@st.composite
def _written(draw: st.DrawFn, text: str) -> str:
    """Writes a name or value in another way that is the same to GROMACS."""
    parts = text.replace("_", "-").split("-")
    joined = parts[0]
    for part in parts[1:]:
        joined += draw(st.sampled_from(["-", "_", "", "--"])) + part
    at = draw(st.integers(1, len(joined) - 1)) if len(joined) > 1 else 0
    if at and draw(st.booleans()):
        joined = f"{joined[:at]}{draw(st.sampled_from('-_'))}{joined[at:]}"
    return draw(st.sampled_from([str, str.lower, str.upper, str.title]))(joined)


@given(st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_dashes_underscores_and_capitals_mean_nothing(tmp_path: Path, data: st.DataObject) -> None:
    lines = []
    for name, value in OPTIONS.items():
        is_number = value[0].isdigit()
        lines.append(f"{data.draw(_written(name))} = {value if is_number else data.draw(_written(value))}")
    found = _read(tmp_path, "\n".join(data.draw(st.permutations(lines))))
    found.notes = []
    assert found == EXPECTED


def test_a_misspelt_name_is_named_with_the_one_that_was_meant(tmp_path: Path) -> None:
    n_refused = 0
    for name in KNOWN.values():
        letters = name.replace("-", "")
        cut = letters[: len(letters) // 2] + letters[len(letters) // 2 + 1 :]
        if len(name) < 5 or is_known(cut.lower()):
            continue
        n_refused += 1
        with pytest.raises(
            InputError, match=rf"run.mdp:2: GROMACS has no option '{re.escape(cut)}': did you mean .*\?"
        ):
            _read(tmp_path, f"; options\n{cut} = 1\n")
    assert n_refused > 200


def test_the_nearest_name() -> None:
    meant = {"vdwmodifer": "vdw-modifier", "rcolomb": "rcoulomb", "rvdwswich": "rvdw-switch", "disprcor": "DispCorr"}
    assert {name: nearest(name) for name in meant} == meant
    assert nearest("qqqqqqqq") == ""


def test_one_option_in_two_spellings_is_given_twice(tmp_path: Path) -> None:
    for one, other in itertools.combinations(("vdw-type", "vdwtype", "VDW_TYPE"), 2):
        with pytest.raises(InputError, match=r"run\.mdp:2: vdwtype is given twice, first at run\.mdp:1"):
            _read(tmp_path, f"{one} = cut-off\n{other} = cut-off\n")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("vdw-type = User", "vdwtype = User is not supported"),
        ("vdw_type = Encad-shift", "vdwtype = Encad-shift is not supported"),
        ("CoulombType = User", "coulombtype = User is not supported"),
        ("coulomb-type = PME-User", "coulombtype = PME-User is not supported"),
        ("vdw_type = PME\nvdwmodifier = force-switch", "vdw-modifier = force-switch with vdwtype = PME"),
        ("freeenergy = yes", "free-energy = yes: free-energy perturbation is not supported"),
        ("epsilonr = 2.5", "epsilon-r = 2.5: a dielectric constant other than 1"),
        ("PBC = xy", "pbc = xy: a system that repeats in some directions only"),
        ("ewald_geometry = 3dc", "ewald-geometry = 3dc: Ewald sums of a layer"),
        ("epsilon-surface = 78", "epsilon-surface = 78: a medium around"),
        ("E_x = 1 0.5 0", "E-x = 1 0.5 0: an electric field"),
        ("cosacceleration = 0.1", "cos-acceleration = 0.1: acceleration"),
        ("constraints = some", "constraints = some, expected none, h-bonds"),
    ],
)
def test_what_has_no_counterpart_is_refused_in_any_spelling(line: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        _read(tmp_path, line + "\n")


def test_options_that_are_off_or_concern_a_run(tmp_path: Path) -> None:
    found = _read(
        tmp_path,
        "pull = no\nE-x =\ndeform = 0 0 0 0 0 0\nepsilon_surface = 0.0\nepsilon-r = 1.00\nnwall = 0\n"
        "pull-coord1-k = 1000\nawh1-dim1-coord-index = 1\ntitle = a title\nnstxtcout = 500\nxtc_precision = 1000\n"
        "constraints = none\nmass-repartition-factor = 3\nfreezegrps = wall\n",
    )
    text = "\n".join(found.notes)
    assert found.is_flexible
    assert "dynamics.hydrogen_mass" in text
    assert "dynamics.fixed" in text


@pytest.mark.parametrize(
    ("text", "is_flexible"),
    [("", True), ("constraints =", True), ("Constraints = None", True), ("constraints = h-bonds", False),
     ("constraints = all-bonds", False)],
)  # fmt: skip
def test_bonds_are_flexible_where_gromacs_default_says_so(text: str, is_flexible: bool, tmp_path: Path) -> None:
    found = _read(tmp_path, f"rvdw = 1.2\n{text}\n")
    assert found.is_flexible is is_flexible
    told = "run.mdp has no constraints: bonds are flexible, as GROMACS' default says"
    assert (told in found.notes) is (text in ("", "constraints ="))


def test_a_comment_ends_with_its_line_alone(tmp_path: Path) -> None:
    found = _read(tmp_path, "rvdw = 0.9 ; not\x0crvdw = 0.5 \x85 \u2028rvdw = 1\n")
    assert found.lennard_jones is not None and found.lennard_jones.cutoff == 9


def test_no_cut_off(tmp_path: Path) -> None:
    """GROMACS' rvdw = 0 means that there is none, which a system that repeats can't have."""
    found = _read(tmp_path, "pbc = no\nrvdw = 0.0\nrcoulomb = 0\n")
    assert found.lennard_jones == ALL_PAIRS
    for text in ("rvdw = 0", "pbc = xyz\nrvdw = 0", "pbc = no\nvdwtype = PME\nrvdw = 0"):
        with pytest.raises(InputError, match=r"rvdw = 0, no cut-off, which needs pbc = no and vdwtype = cut-off"):
            _read(tmp_path, text + "\n")


def test_annealing_is_the_run_files(tmp_path: Path) -> None:
    assert "give dynamics.temperature as points" in "".join(_read(tmp_path, "annealing = no single\n").notes)
    assert "annealing" not in "".join(_read(tmp_path, "annealing = no\nannealing-npoints =\n").notes)
