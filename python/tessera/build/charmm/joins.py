"""Splits patches that join two residues, as CHARMM's disulfide (DISU) does, into one for each and the bonds between."""

from __future__ import annotations

from tessera.build.charmm.topology import Names, Residue
from tessera.errors import InputError


def halves_of(patch: Residue) -> tuple[Residue, Residue, list[Names]]:
    """Returns the patches of the first and of the second residue, and the bonds between them. In a patch of two, names
    begin with 1 or 2. Raises `InputError` where it joins them otherwise than by bonds."""
    between = [names for names in patch.bonds if {name[0] for name in names} == {"1", "2"}]
    for entries in (patch.angles, patch.dihedrals, patch.impropers, patch.cross_terms):
        for names in entries:
            if len({name[0] for name in names}) > 1:
                raise InputError(f"{patch.where}: the patch {patch.name} joins {'-'.join(names)}, expected bonds alone")
    one, other = (_half(patch, digit) for digit in "12")
    return one, other, [tuple(name[1:] for name in sorted(names)) for names in between]


def _half(patch: Residue, digit: str) -> Residue:
    def own(entries: list[Names]) -> list[Names]:
        kept = (names for names in entries if all(name[0] == digit for name in names))
        return [tuple(name[1:] for name in names) for names in kept]

    return Residue(
        patch.name,
        patch.where,
        is_patch=True,
        atoms={name[1:]: atom for name, atom in patch.atoms.items() if name[0] == digit},
        bonds=own(patch.bonds),
        angles=own(patch.angles),
        dihedrals=own(patch.dihedrals),
        impropers=own(patch.impropers),
        cross_terms=own(patch.cross_terms),
        deleted=own(patch.deleted),
    )
