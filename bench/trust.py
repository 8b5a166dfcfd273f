"""Makes the tables of docs/trust.md: what is compared with whom and how near, hashes by processor, campaigns, and what
is not tested. All of it is read from the tests and from docs/records; nothing is measured.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import click

from bench.common.records import measured, table_of
from bench.common.results import RECORDS, ROOT, insert, table
from tests.campaigns import record

PAGE = ROOT / "docs" / "trust.md"
#: arguments of comparisons that are limits of relative errors
RELATIVE = {"rel", "rtol"}
#: parts of the long campaign whose tests look at hashes
OF_BITS = ("bits", "arm")


@dataclass(frozen=True)
class Comparison:
    """A comparison with another program. `tests` is a pattern of the names of its tests in `file`; `limits` names
    constants of `limits_of` where the tests have no numbers of their own."""

    other: str
    what: str
    file: str
    tests: str = "test_"
    limits: tuple[str, ...] = ()
    limits_of: str = ""


COMPARISONS = (
    Comparison("OpenMM, Reference platform, double precision", "each term of the energy and all forces, with "
               "every form of Lennard-Jones and electrostatics, in boxes and in vacuum",
               "tests/forces/test_openmm.py",
               limits=("ENERGY", "FORCE"), limits_of="tests/forces/compare.py"),
    Comparison("GENESIS, logs of its own tests", "terms of the energy of JAC in water, and 20 steps of dynamics",
               "tests/forces/test_files.py", "test_genesis"),
    Comparison("GROMACS", "terms of the energy of every function type of its topologies",
               "tests/prepare/test_gromacs.py",
               "test_energies_are_those|test_the_figures"),
    Comparison("OpenMM's reader of AMBER files", "terms of the energy of a prmtop that chamber wrote",
               "tests/prepare/test_amber.py", "test_chamber_equals"),
    Comparison("OpenMM and ParmEd", "terms of the energy of systems in memory, ff19SB and OPLS, made here and there",
               "tests/prepare/test_interoperability.py", "test_a_|test_opls", limits=("TERM",),
               limits_of="tests/prepare/test_interoperability.py"),
    Comparison("OpenMM's force fields", "terms of the energy of models of PDB files", "tests/prepare/test_pdb.py",
               "test_terms_equal", limits=("TERM",), limits_of="tests/prepare/test_pdb.py"),
)  # fmt: skip


@cache
def _tree(file: str) -> ast.Module:
    return ast.parse((ROOT / file).read_text())


def tests_of(one: Comparison) -> list[ast.FunctionDef]:
    """Returns the tests of a comparison."""
    found = [
        node for node in _tree(one.file).body if isinstance(node, ast.FunctionDef) and re.match(one.tests, node.name)
    ]
    if not found:
        raise click.ClickException(f"{one.file} has no test {one.tests!r}: correct COMPARISONS of bench/trust.py")
    return found


def _numbers(node: ast.AST) -> Iterator[float]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Constant) and isinstance(inner.value, float):
            yield inner.value


def limits_of(one: Comparison) -> list[float]:
    """Returns the relative errors that the tests allow, in order of size."""
    found: set[float] = set()
    for name in one.limits:
        values = [node.value for node in _tree(one.limits_of).body
                  if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == name]  # fmt: skip
        if not values:
            raise click.ClickException(f"{one.limits_of} has no {name}: correct COMPARISONS of bench/trust.py")
        found.update(_numbers(values[0]))
    if not one.limits:
        for test in tests_of(one):
            for node in ast.walk(test):
                if isinstance(node, ast.keyword) and node.arg in RELATIVE:
                    found.update(_numbers(node.value))
    return sorted(found)


def power(number: float) -> str:
    """Returns a small number as people write it: 2·10⁻⁵."""
    digits, _, exponent = f"{number:.0e}".partition("e")
    raised = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10{raised}" if digits == "1" else f"{digits}·10{raised}"


def comparisons() -> str:
    rows = []
    for one in COMPARISONS:
        limits = limits_of(one)
        near = power(limits[0]) if len(limits) == 1 else f"{power(limits[0])} to {power(limits[-1])}"
        rows.append([one.other, one.what, near, len(tests_of(one)), f"`{one.file}`"])
    return table(["compared with", "what", "relative error allowed", "tests", "where"], rows)


def liquids() -> str:
    """Returns how far liquids are from published values, of what the record has."""
    rows = []
    for title, what in (("density, g/cm³", "density of water"), ("its height", "height of the first maximum of g_OO"),
                        ("diffusion, 10⁻⁵ cm²/s", "diffusion")):  # fmt: skip
        header, *models = table_of("liquids", title)
        at = header.index(title)
        off = {row[0]: abs(_first(row[at]) / _first(row[at + 1]) - 1) for row in models if row[at + 1] != "–"}
        worst = max(off, key=lambda name: off[name])
        rows.append([what, ", ".join(off), f"{100 * off[worst]:.1f} % ({worst})"])
    return table(["liquid at 298 K and 1 bar", "models", "greatest difference from published values"], rows)


def _first(cell: str) -> float:
    return float(cell.split()[0])


def constants_of(file: str, name: str) -> ast.expr:
    """Returns the value of a constant of a module, without running it."""
    for node in _tree(file).body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if getattr(target, "id", "") == name and isinstance(node, ast.Assign | ast.AnnAssign) and node.value:
            return node.value
    raise click.ClickException(f"{file} has no {name}")


def hashes() -> str:
    """Returns the hashes of states that every processor must find."""
    bitwise = "tests/bits/test_bitwise.py"
    golden = constants_of(bitwise, "GOLDEN")
    kinds = constants_of(bitwise, "KINDS")
    assert isinstance(golden, ast.Dict) and isinstance(kinds, ast.Dict)
    rows = [[ast.literal_eval(key), "200 steps, every default", f"`{ast.literal_eval(value)[:16]}…`"]
            for key, value in zip(golden.keys, golden.values) if key]  # fmt: skip
    for key, value in zip(kinds.keys, kinds.values):
        assert key is not None and isinstance(value, ast.Tuple)
        system, _, found = value.elts
        rows.append(
            [ast.literal_eval(system), ast.literal_eval(key).replace("_", " "), f"`{ast.literal_eval(found)[:16]}…`"]
        )
    return table(["system", "run", "hash of the state at the end"], rows)


def processors() -> str:
    """Returns which processors and instruction sets found these hashes in the long campaign, and when."""
    rows = [
        [line.processor, line.sets, line.sets_not_run, line.part, line.date, f"`{line.commit}`",
         f"{line.passed} passed, {line.failed} failed"]
        for line in record.read() if line.part.partition(":")[0] in OF_BITS
    ]  # fmt: skip
    return table(["processor", "instruction sets", "not run", "part", "date", "commit", "tests"], rows)


def campaigns() -> str:
    """Returns when each part of the long campaign ran last, and when it passed last, with all of its pieces."""
    lines = record.read()
    rows = []
    for part in record.PARTS.values():
        own = [line for line in lines if line.part.partition(":")[0] == part.name]
        of_pieces = [[line for line in lines if line.part == str(piece) and line.verdict == "passed"]
                     for piece in part.pieces()]  # fmt: skip
        passed = min((found[0] for found in of_pieces), key=lambda line: line.date) if all(of_pieces) else None
        last = f"{own[0].date}, {own[0].verdict} ({own[0].passed} passed, {own[0].failed} failed)" if own else "never"
        rows.append([part.name, part.runs, last, f"{passed.date}, `{passed.commit}`" if passed else "never"])
    return table(["part", "what it runs", "last run on record", "last passed"], rows)


def untested() -> str:
    """Returns, as a list, what the records say is missing."""
    lines = record.read()
    found = []
    for piece in (piece for part in record.PARTS.values() for piece in part.pieces()):
        verdicts = [line.verdict for line in lines if line.part == str(piece)]
        if not verdicts:
            found.append(f"The part `{piece}` ({piece.part.runs}) has no run on record.")
        elif verdicts[0] != "passed":
            found.append(f"The last run of the part `{piece}` ({piece.part.runs}) {verdicts[0]}.")
    pages = [page.read_text() for page in sorted(RECORDS.glob("*.md"))]
    sections = [name for text in pages for name in re.findall(r"<!-- bench:(\w+) -->", text)]
    never = [name for name in sections if name != "ages" and not measured(name)]
    if never:
        found.append(f"Never measured: {', '.join(f'`{name}`' for name in never)}.")
    promise = re.search(r"Of [\d,]+ promises .*?\.", measured("promises"))
    if promise:
        found.append(f"{promise[0]} [The list](records/promises.md) names each.")
    papers = re.search(r"\| all \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|", (ROOT / "docs" / "papers.md").read_text())
    if papers:
        found.append(
            f"Of {papers[1]} figures and tables of [five papers](papers.md) {papers[3]} came out differently and "
            f"{papers[4]} are still to come."
        )
    return "\n".join(f"- {text}" for text in found)


def written() -> list[tuple[str, str]]:
    """Returns the text of each section of the page, by its name."""
    return [
        ("trust_compared", comparisons()),
        ("trust_liquids", liquids()),
        ("trust_hashes", hashes()),
        ("trust_processors", processors()),
        ("trust_campaigns", campaigns()),
        ("trust_untested", untested()),
    ]


def write() -> None:
    """Writes the sections of the page."""
    for name, text in written():
        insert(PAGE, name, text)


@click.command(help=__doc__)
def main() -> None:
    write()


if __name__ == "__main__":
    main()
