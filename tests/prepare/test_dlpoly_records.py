"""The first record of DL_POLY's files is the title whatever it holds; comments, counts and both styles of CONTROL."""

from __future__ import annotations

import random
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tessera.errors import InputError
from tessera.prepare.dlpoly import prepare_dlpoly
from tessera.prepare.dlpoly.config import read_config
from tessera.prepare.dlpoly.control import read_control
from tessera.prepare.dlpoly.field import Field, read_field
from tests.support.commands import said
from tests.support.inputs import written
from tests.support.salt import ATOMS, CONTROL, LATTICE, SALT, config_text, field_text, lattice, write_salt

TITLES = [
    *("", "   ", "# salt", "! salt", "& salt", "units kJ", "molecules 3", "temperature 0", "finish", "close", "title"),
    *("steps 7", "time_run 5 steps", "0 1 64", "a\x0cunits kJ", "salt\u2028steps 9", "\x1b[31msalt", "süß"),
]


def with_title(text: str, title: str) -> str:
    return title + text[text.index("\n") :]


def facts_of(found: Field) -> object:
    sites = [[(m.name, m.count, m.sites) for m in found.molecules]]
    return found.unit, sites, [line.words for line in found.potentials]


@pytest.mark.parametrize("title", TITLES)
def test_the_first_record_is_the_title(tmp_path: Path, title: str) -> None:
    field = field_text(8, units="eV")
    expected = facts_of(read_field(written(tmp_path / "FIELD", field)))
    assert facts_of(read_field(written(tmp_path / "FIELD", with_title(field, title)))) == expected
    usual = asdict(read_control(written(tmp_path / "CONTROL", CONTROL)))
    assert asdict(read_control(written(tmp_path / "CONTROL", with_title(CONTROL, title)))) == usual
    position, names = lattice(1)
    config = config_text(position, names, LATTICE)
    found = read_config(written(tmp_path / "CONFIG", with_title(config, title)))
    np.testing.assert_allclose(found.position, position, atol=1e-9)


@pytest.mark.parametrize("title", TITLES)
def test_the_first_record_of_a_table_is_its_title(tmp_path: Path, title: str) -> None:
    r = 0.01 * np.arange(1, 1001)
    numbers = [f"{1 / x:.8e} {2 / x:.8e}" for x in r]
    table = "\n".join(["a title", "0.01 10.0 1000", "# a comment", "Na+ Cl-", *numbers])
    write_salt(tmp_path, 1, potentials=("Na+ Cl- tab",))
    written(tmp_path / "TABLE", with_title(table, title))
    system = prepare_dlpoly(tmp_path / "FIELD", tmp_path / "CONFIG")
    assert system.force_field.pair_tables is not None
    np.testing.assert_allclose(system.force_field.pair_tables[0, :2, 0] * 418.4, [1 / r[0], 2 / r[0]])


@pytest.mark.parametrize("comment", ["# 27 in all", "! 27", "of 27 ions", "# nummols 27 ! 5"])
def test_what_stands_behind_a_count_is_no_count(tmp_path: Path, comment: str) -> None:
    lines = field_text(8).splitlines()
    noted = [f"{line} {comment}" if line.split()[0] in ("molecules", "nummols", "atoms", "vdw") else line
             for line in lines]  # fmt: skip
    noted = [f"{line} # 3 4 5" if line in (*ATOMS, *SALT) else line for line in noted]
    expected = facts_of(read_field(written(tmp_path / "FIELD", "\n".join(lines))))
    found = read_field(written(tmp_path / "FIELD", "\n".join(noted).replace("molecules", "molecular types")))
    assert facts_of(found)[:2] == expected[:2] and facts_of(found)[2] == expected[2]  # type: ignore[index]


def test_numbers_in_a_comment_are_no_parameters(tmp_path: Path) -> None:
    terms = ("dihedrals 1", "cos 1 2 3 4 0.28 180.0 3 # 0.5 0.5")
    found = read_field(written(tmp_path / "FIELD", field_text(1, terms=terms)))
    term = found.molecules[0].terms["dihe"][0]
    assert [term.parameter(at, "a factor", 0.0) for at in (2, 3, 4)] == [3, 0, 0]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("nummols 8", "nummols nan", r"FIELD, line 5: expected the number of records, a number, found 'nan'"),
        ("atoms 8", "atoms inf", r"line 6: expected the number of records, a number, found 'inf'"),
        ("nummols 8", "nummols 1e999", r"found '1e999'"),
        ("nummols 8", "nummols 1e12", r"FIELD has 8,000,000,000,000 atoms in all, and CONFIG 64"),
        ("atoms 8", "atoms 1e12", r"line 6: a molecule of 1,000,000,000,000 atoms, expected at most"),
        ("nummols 8", "nummols", r"line 5: expected the number of records as word 2"),
        ("nummols 8", "nummols #8", r"line 5: expected the number of records as word 2"),
        ("nummols 8\n", "", r"molecule salt has no nummols"),
        ("22.9898", "nan", r"line 7: expected a mass, a number, found 'nan'"),
        ("units internal\n", "", r"line 2: no units stand before the molecules: write `units`"),
        ("Na+  22", "Nä  22", r"line 7: expected an atom's name of at most 8 ASCII characters, found 'Nä'"),
        ("Na+  22", "sodium_ion  22", r"line 7: expected an atom's name of at most 8 ASCII characters"),
        ("finish", "something 0\nfinish", r"line 9: unknown directive 'something'"),
        ("vdw", "molecules 1\nvdw", r"the molecules are listed already"),
    ],
)
def test_bad_counts_and_names(tmp_path: Path, old: str, new: str, message: str) -> None:
    write_salt(tmp_path, 2)
    text = (tmp_path / "FIELD").read_text()
    assert old in text
    (tmp_path / "FIELD").write_text(text.replace(old, new, 1))
    with pytest.raises(InputError, match=message):
        prepare_dlpoly(tmp_path / "FIELD", tmp_path / "CONFIG")


def test_a_name_of_config_beyond_ascii(tmp_path: Path) -> None:
    write_salt(tmp_path, 2)
    (tmp_path / "CONFIG").write_text((tmp_path / "CONFIG").read_text().replace("Na+", "Nä+", 1))
    done = said("prepare", "dlpoly", tmp_path, "-o", tmp_path / "x.tsr", status=2)
    assert "CONFIG, line 6: expected an atom's name of at most 8 ASCII" in done


@pytest.mark.parametrize("place", ["title", "molecule", "directive", "CONTROL", "name", "species"])
def test_no_escape_code_reaches_the_terminal(tmp_path: Path, place: str) -> None:
    code = "\x1b[31m\x07\x9b"
    write_salt(tmp_path, 2)
    field, control = (tmp_path / "FIELD").read_text(), (tmp_path / "CONTROL").read_text()
    changed = {
        "title": (with_title(field, code), with_title(control, code)),
        "molecule": (field.replace("salt\nnummols 8", f"salt{code}\nnummols 0"), control),
        "directive": (field.replace("vdw", f"metal{code} 1\nvdw"), control),
        "CONTROL": (field, control.replace("job time", f"job{code} time")),
        "name": (field.replace("Na+  22", f"Na{code}  22"), control),
        "species": (field.replace("Na+ Na+", f"Na{code} Na+"), control.replace("stats", f"vdw {code}\nstats")),
    }
    written(tmp_path / "FIELD", changed[place][0])
    written(tmp_path / "CONTROL", changed[place][1])
    status = 0 if place in ("title", "CONTROL") else 2
    done = said("prepare", "dlpoly", tmp_path, "-o", tmp_path / "x.tsr", status=status)
    assert all(c.isprintable() or c == "\n" for c in done)


NEW = """title salt
temperature 500 K
cutoff 8 ang
timestep 1 fs
time_run 0.02 ps
time_equilibration 5 steps
ensemble nvt
ensemble_method hoover
ensemble_thermostat_coupling 10 fs
spme_alpha 3 nm^-1
stats_frequency 2 fs
restart rescale
io_file_statis S
# a comment

print_frequency 2 steps   # 7 times""".splitlines()


@settings(max_examples=40, deadline=None)
@given(st.randoms(use_true_random=False), st.booleans())
def test_the_new_style_has_any_order(
    tmp_path_factory: pytest.TempPathFactory, order: random.Random, mark: bool
) -> None:
    lines = list(NEW)
    order.shuffle(lines)
    path = tmp_path_factory.mktemp("control") / "CONTROL"
    path.write_text("\ufeff" * mark + "\n".join(lines))
    control = read_control(path)
    assert (control.temperature, control.cutoff, control.timestep, control.steps) == (500, 8, 0.001, 20)
    assert (control.tau_t, control.alpha, control.stats_every) == (0.01, pytest.approx(0.3), 2)
    assert control.scales_velocities and sorted(control.unused) == ["io_file_statis", "print_frequency"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n".join(["title x", "temprature 300 K", *NEW[2:]]), r"line 2: .*temprature"),
        ("\n".join([*NEW, "stats_freqency 10 steps"]), r"unknown keyword 'stats_freqency'; perhaps stats_frequency"),
        ("\n".join([*NEW, "cutoff 9 ang"]), r"line 17: cutoff is given in line 3 already"),
        ("\n".join([*NEW, "steps 20"]), r"line 17: steps is of the old style and time_run in line 5 of the new one"),
        (
            "\n".join([*NEW, "spme_kvec 8", "ignore_config_indices ON"]),
            r"not supported: remove the indices from CONFIG",
        ),
        ("\n".join(NEW).replace("500 K", "500 eV"), r"the unit 'eV' of temperature is not known; expected k"),
        ("\n".join(NEW).replace("500 K", "500 K 3"), r"expected a value and a unit after temperature, found '3', too"),
        (
            CONTROL.replace("precision 1d-6", "precision 0.125"),
            r"Ewald's precision is 0.125, expected a number above 0",
        ),
        (CONTROL.replace("precision 1d-6", "precision -1d-6"), r"Ewald's precision is -1e-06"),
        (CONTROL.replace("500.0", "-500.0"), r"CONTROL has a temperature of -500 K, expected at least 0"),
        (CONTROL.replace("steps 20", "stepz 20"), r"line 4: unknown directive 'stepz'"),
        (CONTROL.replace("steps 20", "no index"), r"no index: not supported; remove the indices"),
        (CONTROL.replace("steps 20", "no idea"), r"unknown directive 'no idea'"),
        (CONTROL.replace("timestep 0.001", "timestep variable 0.001"), r"a variable time step: not supported"),
        (CONTROL.replace("steps 20", "vdw ewald"), r"vdw ewald is not supported"),
    ],
)
def test_what_control_may_not_have(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_control(written(tmp_path / "CONTROL", text))


def test_numbers_of_the_old_style_stand_behind_their_key(tmp_path: Path) -> None:
    text = CONTROL.replace("temperature 500.0", "temperature 500.0 300.0 # 200").replace("steps 20", "steps 20 of 1000")
    text = text.replace("ewald precision 1d-6", "ewald precision 1d-6 64 64 64").replace(
        "cutoff", "rvdw cut 7 ang\ncutoff"
    )
    control = read_control(written(tmp_path / "CONTROL", text))
    assert (control.temperature, control.steps, control.precision, control.vdw) == (500, 20, 1e-6, 7)


def test_control_names_other_files(tmp_path: Path) -> None:
    write_salt(tmp_path, 2, control="\n".join([*NEW, "io_file_config REVCON", "io_file_field OTHER"]))
    (tmp_path / "CONFIG").rename(tmp_path / "REVCON")
    (tmp_path / "FIELD").rename(tmp_path / "OTHER")
    said("prepare", "dlpoly", tmp_path, "-o", tmp_path / "x.tsr")
