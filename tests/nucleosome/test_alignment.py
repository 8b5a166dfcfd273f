"""Sequences are aligned with the residues of structures."""

from __future__ import annotations

from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest

from tessera.build.protein.alignment import aligned, score_table
from tessera.build.protein.sequences import Protein, declared, read_proteins
from tessera.errors import InputError


def found(sequence: str, letters: str, breaks: tuple[int, ...] = ()) -> str:
    """Returns the letters of the sequence, small where the structure has no residue."""
    _, rows = aligned(sequence, letters, [row in breaks for row in range(len(letters))])
    return "".join(letter if row >= 0 else letter.lower() for letter, row in zip(sequence, rows))


def test_residues_that_a_structure_lacks_are_found() -> None:
    assert found("PEPAKSAPAPKK", "AKSAPAPKK") == "pepAKSAPAPKK"
    assert found("AKSAPAPKKPW", "AKSAPAPKK") == "AKSAPAPKKpw"
    assert found("AKSGGGGAPAPKK", "AKSAPAPKK", (3,)) == "AKSggggAPAPKK"
    assert found("AAAAAW", "AAAW", (2,)) == "AAaaAW"  # where the chain is interrupted, not at its end


def test_others_are_exchanged_rather_than_moved() -> None:
    assert found("MKSAPAWKK", "AKSAPAPKK") == "MKSAPAWKK"
    assert aligned("AKSAPKK", "AKSAPAPKK", [False] * 9)[1].tolist()[-2:] == [7, 8]
    assert aligned("ARSTW", "KKARSTW", [False] * 7)[1].tolist() == [2, 3, 4, 5, 6]


def test_the_score_is_that_of_all_alignments() -> None:
    """Of all ways to align short texts without breaks, by trying each."""

    def price(gaps: list[int], longer: float = 0.5) -> float:
        return sum(16.0 + longer * gap for gap in gaps if gap)

    table, sequence, letters = score_table(), "ACDKA", "ADKK"
    best = -np.inf
    for size in range(1, len(letters) + 1):
        for rows in combinations(range(len(sequence)), size):
            for columns in combinations(range(len(letters)), size):
                score = sum(table[ord(sequence[row]), ord(letters[column])] for row, column in zip(rows, columns))
                inside = [b - a - 1 for a, b in pairwise(rows)]
                ends = (-1, *columns, len(letters))
                left_out = [b - a - 1 for a, b in pairwise(ends)]
                free = [
                    0.0 if column in (0, len(letters)) else price([gap]) for gap, column in zip(inside, columns[1:])
                ]
                best = max(best, score - sum(free) - price(left_out))
    assert aligned(sequence, letters, [False] * 4)[0] == pytest.approx(best)


def test_sequences_are_read(tmp_path: Path) -> None:
    (tmp_path / "histones.fa").write_text(">H3 | chains A, E\nARTK\nqtar*\n>H4\nSGRG\n")
    assert read_proteins(tmp_path / "histones.fa") == [Protein("H3 | chains A, E", "ARTKQTAR"), Protein("H4", "SGRG")]
    (tmp_path / "declared.pdb").write_text(
        "SEQRES   1 A    2  ALA ARG\nSEQRES   2 A    2  HIS\nSEQRES   1 I   1   DA\n"
    )
    assert declared(tmp_path / "declared.pdb") == {"A": ("ALA", "ARG", "HIS"), "I": ("DA",)}
    scheme = "data_x\nloop_\n_pdbx_poly_seq_scheme.mon_id\n_pdbx_poly_seq_scheme.pdb_strand_id\nALA A\nGLY A\nDA I\n#\n"
    (tmp_path / "declared.cif").write_text(scheme)
    assert declared(tmp_path / "declared.cif") == {"A": ("ALA", "GLY"), "I": ("DA",)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (">x\nARTB\n", "histones.fa, line 2: residue 4 is 'B', expected one of the 20 amino acids"),
        (">x\n>y\nARTK\n", "histones.fa, line 2: the sequence 'x' before has no letters"),
        ("\n", "histones.fa holds no sequence"),
    ],
)
def test_what_is_no_sequence_is_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "histones.fa").write_text(text)
    with pytest.raises(InputError, match=message):
        read_proteins(tmp_path / "histones.fa")
