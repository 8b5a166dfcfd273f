"""Broken inputs give one message that says what was found and where, status 2 and no traceback."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result

from tessera.errors import InputError
from tessera.prepare.charmm import prepare_charmm
from tessera.prepare.coordinates import box_from_lengths, read_coordinates
from tessera.prepare.gromacs import prepare_gromacs
from tessera.system import System, read
from tests.support.commands import called, said
from tests.support.inputs import ALA3_PARAMETERS, DHFR, DHFR_PARAMETERS, SMALL

PSF, PDB = SMALL / "ala_ala_ala.psf", SMALL / "ala_ala_ala.pdb"


def prepared(psf: Path = PSF, pdb: Path = PDB, box: float | None = 40.0) -> System:
    return prepare_charmm(psf, pdb, ALA3_PARAMETERS, None if box is None else np.diag([box] * 3))


def in_vacuum(pdb: Path = PDB) -> System:
    return prepare_charmm(PSF, pdb, ALA3_PARAMETERS, vacuum=True)


def edited(source: Path, folder: Path, old: str, new: str) -> Path:
    text = source.read_text()
    assert old in text
    out = folder / source.name
    out.write_text(text.replace(old, new, 1))
    return out


def test_missing_parameters_are_named_together() -> None:
    with pytest.raises(InputError) as caught:
        prepare_charmm(PSF, PDB, [DHFR / "charmm22.rtf"], vacuum=True)
    message = str(caught.value)
    assert "parameter(s) are missing" in message
    assert "Lennard-Jones CT1: first at CA of ALA 1 in AAL" in message
    assert message.count("first at") == 10 and "… and " in message


def test_missing_cmap_names_its_atoms() -> None:
    with pytest.raises(InputError, match=r"CMAP C-NH1-CT1-C-NH1-CT1-C-NH1: first at C of ALA 1"):
        prepare_charmm(PSF, PDB, DHFR_PARAMETERS[:2], vacuum=True)


def test_type_numbers_that_two_files_claim() -> None:
    with pytest.raises(InputError, match="number 1 is claimed by the MASS lines of H and HT"):
        prepare_charmm(PSF, PDB, DHFR_PARAMETERS, vacuum=True)


def test_counts_that_differ(tmp_path: Path) -> None:
    lines = PDB.read_text().splitlines(keepends=True)
    atoms = [line for line in lines if line.startswith("ATOM")]
    short = tmp_path / "short.pdb"
    short.write_text("".join(atoms[:-1]) + "END\n")
    with pytest.raises(InputError, match="topology has 33 atoms but the coordinate file has 32"):
        prepared(pdb=short)


@pytest.mark.parametrize("bad", ["     nan", "     inf"])
def test_coordinates_that_are_not_finite(tmp_path: Path, bad: str) -> None:
    atom = PDB.read_text().splitlines()[[line[:4] for line in PDB.read_text().splitlines()].index("ATOM")]
    pdb = edited(PDB, tmp_path, atom, atom[:30] + bad + atom[38:])
    with pytest.raises(InputError, match=r"not finite; the first is N of ALA 1 in AAL \(atom 1\)"):
        prepared(pdb=pdb)


def test_overlapping_atoms_are_named(tmp_path: Path) -> None:
    atoms = [line for line in PDB.read_text().splitlines() if line.startswith("ATOM")]
    # Moves the last atom onto the first, across the edge of the box.
    moved = float(atoms[0][30:38]) + 40.0 + 0.05
    pdb = edited(PDB, tmp_path, atoms[-1], atoms[-1][:30] + f"{moved:8.3f}" + atoms[0][38:54] + atoms[-1][54:])
    (warning,) = prepared(pdb=pdb).warnings
    assert re.search(r"closer than 0.1 Å.*0.0500 Å apart: N of ALA 1 in AAL \(atom 1\) and .*minimize", warning)


TOP = """
[ defaults ]
1 2 yes 0.5 0.8333
[ atomtypes ]
OW 8 15.9994 0.0 A 0.315061 0.636386
HW 1 1.008 0.0 A 0.0 0.0
[ moleculetype ]
SOL 2
[ atoms ]
1 OW 1 SOL OW 1 -0.834 15.9994
2 HW 1 SOL HW1 1 0.417 1.008
3 HW 1 SOL HW2 1 0.417 1.008
[ settles ]
1 1 0.09572 0.15139
[ exclusions ]
1 2 3
2 1 3
3 1 2
[ system ]
water
[ molecules ]
"""


@pytest.mark.parametrize("atoms", [range(33), (0, 4)])
def test_atoms_in_one_place_are_named(tmp_path: Path, atoms: Sequence[int]) -> None:
    """All coordinates are zero, as from a program that had none, or two bonded atoms are in one place."""
    lines = [line for line in PDB.read_text().splitlines() if line.startswith("ATOM")]
    for atom in atoms:
        lines[atom] = lines[atom][:30] + f"{0:8.3f}" * 3 + lines[atom][54:]
    pdb = tmp_path / "zero.pdb"
    pdb.write_text("\n".join([*lines, "END", ""]))
    with pytest.raises(InputError, match=r"same place as another; the first two are N of ALA 1 .* and .* of ALA 1"):
        prepared(pdb=pdb)


def test_molecules_in_one_place_reach_a_minimisation(tmp_path: Path) -> None:
    """Copies of a molecule lie on each other to the last digit; a water whose own atoms do has no coordinates."""

    def written(places: Sequence[Sequence[float]]) -> Path:
        lines = [f"{1 + i // 3:5d}SOL  {('OW', 'HW1', 'HW2')[i % 3]:>5}{1 + i:5d}" for i in range(len(places))]
        rows = [line + "".join(f"{x:8.3f}" for x in place) for line, place in zip(lines, places)]
        path = tmp_path / f"{len(places)}.gro"
        path.write_text("\n".join(["water", f"{len(places)}", *rows, "   2.00000   2.00000   2.00000", ""]))
        (tmp_path / "water.top").write_text(TOP + f"SOL {len(places) // 3}\n")
        return path

    one = [(0.1, 0.1, 0.1), (0.1957, 0.1, 0.1), (0.076, 0.1927, 0.1)]
    (warning,) = prepare_gromacs(tmp_path / "water.top", written(one * 3)).warnings
    assert "0.0000 Å apart: OW of SOL 1 in SOL (atom 1) and" in warning and "`tessera minimize` parts them" in warning
    for places in ([*one, *[(0.0, 0.0, 0.0)] * 3], one * 12):
        with pytest.raises(InputError, match=r"same place as another; .* are coordinates missing from the file"):
            prepare_gromacs(tmp_path / "water.top", written(places))


def test_missing_bond_names_types_and_atoms(tmp_path: Path) -> None:
    lines = ALA3_PARAMETERS[1].read_text().splitlines(keepends=True)
    bond = [line for line in lines if line.split()[:2] == ["CT3", "CT1"] and len(line.split("!")[0].split()) == 4]
    assert len(bond) == 1
    parameters = tmp_path / "short.par"
    parameters.write_text("".join(line for line in lines if line != bond[0]))
    with pytest.raises(InputError, match=r"(?s)1 parameter.*bond CT3-CT1: first at C[AB] of ALA 1 in AAL .*–C[AB] of"):
        prepare_charmm(PSF, PDB, [ALA3_PARAMETERS[0], parameters], vacuum=True)


@pytest.mark.parametrize("section", ["NATOM", "NBOND", "NPHI", "NCRTERM"])
def test_truncated_psf(tmp_path: Path, section: str) -> None:
    text = PSF.read_text()
    at = text.index("\n", text.index(f"!{section}"))
    psf = tmp_path / "cut.psf"
    psf.write_text(text[: at + 40])
    with pytest.raises(InputError, match=f"cut.psf is truncated.*!{section}"):
        prepared(psf)


def test_files_that_are_missing_empty_or_of_another_kind(tmp_path: Path) -> None:
    empty = tmp_path / "empty.psf"
    empty.touch()
    for psf, message in ((tmp_path / "no.psf", "PSF file not found"), (empty, "is empty"), (PDB, "is not a PSF")):
        with pytest.raises(InputError, match=message):
            prepared(psf)
    with pytest.raises(InputError, match="cannot tell the format of"):
        prepared(pdb=PSF)


def test_drude_is_refused(tmp_path: Path) -> None:
    psf = tmp_path / "drude.psf"
    psf.write_text(PSF.read_text().replace("PSF", "PSF DRUDE", 1))
    with pytest.raises(InputError, match="polarisable"):
        prepared(psf)


def test_no_box_is_refused_unless_vacuum_is_asked_for() -> None:
    with pytest.raises(InputError, match=r"^ala_ala_ala.pdb has no box: give --box or --vacuum$"):
        prepared(box=None)
    system = in_vacuum()
    assert not system.periodic
    extent = np.ptp(system.positions(), axis=0)
    assert (np.diag(system.box) >= 3 * extent + 40 - 1e-6).all()


def test_vacuum_far_from_the_origin(tmp_path: Path) -> None:
    lines = []
    for line in PDB.read_text().splitlines():
        if line.startswith("ATOM"):
            line = line[:30] + f"{float(line[30:38]) + 900:8.3f}" + line[38:]
        lines.append(line)
    far = tmp_path / "far.pdb"
    far.write_text("\n".join(lines) + "\n")
    moved, still = in_vacuum(far).positions(), in_vacuum().positions()
    assert np.allclose(moved - moved[0], still - still[0], atol=1e-6)


def test_triclinic_boxes_are_lower_triangular() -> None:
    box = box_from_lengths((30, 40, 50), (70, 80, 95))
    assert box is not None
    assert np.count_nonzero(np.triu(box, 1)) == 0
    assert np.linalg.norm(box, axis=1) == pytest.approx([30, 40, 50])
    angle = np.degrees(np.arccos(box[1] @ box[2] / (40 * 50)))
    assert angle == pytest.approx(70)


def test_namd_binary_and_crd_give_the_same_coordinates(tmp_path: Path) -> None:
    expected = read_coordinates(PDB).position
    binary = tmp_path / "ala.coor"
    binary.write_bytes(np.int32(33).tobytes() + expected.astype("<f8").tobytes())
    assert np.array_equal(read_coordinates(binary).position, expected)
    binary.write_bytes(binary.read_bytes()[:-8])
    with pytest.raises(InputError, match="announces 33 atoms, which need 796 bytes, and has 788"):
        read_coordinates(binary)


def test_truncated_genesis_restart(tmp_path: Path, data_folder: Path) -> None:
    whole = (data_folder / "genesis" / "build" / "jac_param27" / "rst").read_bytes()
    cut = tmp_path / "rst"
    cut.write_bytes(whole[:300_000])
    with pytest.raises(InputError, match=r"rst is truncated: a record at byte 219692 wants 218825"):
        read_coordinates(cut)


def charmm(output: Path, *more: str | Path) -> Result:
    return called("prepare", "charmm", "--psf", PSF, "--coords", PDB, "--params", *ALA3_PARAMETERS, "-o", output, *more)


def test_command_writes_a_system(tmp_path: Path) -> None:
    output = tmp_path / "ala.tsr"
    done = charmm(output, "--box", "40", "40", "40")
    assert done.exit_code == 0, done.output
    assert "33 atoms in 1 molecule of 1 kind\n" in done.output
    assert np.diag(read(output).box).tolist() == [40, 40, 40]
    octahedron = ("109.4712206", "109.4712206", "109.4712206")
    assert charmm(output, "--box", "40", "40", "40", "--box-angles", *octahedron).exit_code == 0
    a, b, c = read(output).box
    assert np.allclose([a @ b, a @ c, b @ c], -1600 / 3, atol=1e-3) and np.allclose([a @ a, b @ b, c @ c], 1600)
    facts = json.loads(charmm(output, "--vacuum", "--json").output)
    assert facts["periodic"] is False and facts["atoms"] == 33 and facts["terms"]["cmap"] == 1


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--box", "40", "-1", "40"), "--box needs three positive lengths"),
        (("--box", "40", "40", "40", "--vacuum"), "exclude each other"),
        (("--box-angles", "90", "90", "120"), "add --box A B C"),
        (("--box", "40", "40", "40", "--box-angles", "30", "30", "90"), "no box has the angles 30, 30, 90°"),
        (("--params", "none.prm"), "parameter file not found: none.prm"),
    ],
)
def test_command_says_one_line_and_ends_with_2(tmp_path: Path, more: tuple[str, ...], message: str) -> None:
    done = charmm(tmp_path / "ala.tsr", *more)
    assert done.exit_code == 2
    assert done.output.startswith("tessera: error: ") and message in done.output
    assert "Traceback" not in done.output
    assert not (tmp_path / "ala.tsr").exists()


def test_output_folder_that_does_not_exist(tmp_path: Path) -> None:
    done = charmm(tmp_path / "none" / "ala.tsr")
    assert done.exit_code == 2 and "does not exist" in done.output


def test_make_and_replicate_commands(tmp_path: Path) -> None:
    one, two = tmp_path / "one.tsr", tmp_path / "two.tsr"
    assert "1,000 atoms rounded to 999" in said("make", "water", "--atoms", "1000", "-o", one)
    assert json.loads(said("replicate", one, "--nx", "2", "--nz", "3", "-o", two, "--json"))["atoms"] == 5994
    said("make", "nacl", "--ions", "64", "-o", one)
    assert read(one).n_atoms == 64
    assert "no system file" in said("replicate", tmp_path / "no.tsr", "-o", two, status=2)
