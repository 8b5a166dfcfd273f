"""Each of the lints finds what it is made for; `scripts/lint` runs them all over this tree, which is a stage of CI."""

import re
import tomllib
from pathlib import Path

import circles
import citations
import comments
import house
import includes
import mathematics
import papers_page
import public_names
import pytest

import tessera


def test_every_lint_is_run() -> None:
    script = (house.ROOT / "scripts" / "lint").read_text()
    files = set(Path(house.ROOT, "tests/lint").glob("*.py")) - {Path(__file__)}
    ours = [path.name for path in files if "\ndef violations(" in path.read_text()]
    assert len(ours) >= 7
    assert not [name for name in ours if f"\ncheck python tests/lint/{name}\n" not in script]


def test_the_table_of_tests_has_every_folder() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", (house.ROOT / "tests/README.md").read_text(), re.M)
    folders = {path.parts[1] for path in house.files() if path.parts[0] == "tests" and len(path.parts) > 2}
    assert {*rows, "data", "support"} == folders


def test_one_version() -> None:
    project = tomllib.loads((house.ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == tessera.__version__
    assert f"project(tessera VERSION {tessera.__version__} " in (house.ROOT / "CMakeLists.txt").read_text()


@pytest.mark.parametrize(
    ("library", "line"),
    [
        ("base", '#include "tessera/comm/communicator.h"'),
        ("collectives", '#include "tessera/comm/communicator.h"'),
        ("md", '#include "tessera/io/segment.h"'),
        ("io", '#include "tessera/md/engine.h"'),
        ("md", "#include <mpi.h>"),
        ("md", "#include <hdf5.h>"),
        ("model", '#include "system.h"'),
    ],
)
def test_a_wrong_include_is_found(library: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "cpp" / "tessera" / library / "wrong.cpp"
    file.parent.mkdir(parents=True)
    file.write_text(line + "\n")
    monkeypatch.setattr(includes, "ROOT", tmp_path)
    assert len(includes.violations()) == 1


@pytest.mark.parametrize("line", ["std::cout << 1;", 'printf("x");', "std::exit(1);", "// T" + "ODO later"])
def test_a_forbidden_word_is_found(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = Path("cpp/tessera/md/wrong.cpp")
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_text(line + "\n")
    monkeypatch.setattr(house, "ROOT", tmp_path)
    assert len(house.forbidden_words([path])) == 1


@pytest.mark.parametrize(
    ("path", "line", "is_found"),
    [
        ("md/pme/a.cpp", "return std::exp(x);", True),
        ("md/pme/a.cpp", "using std::erfc; return erfc(x);", True),
        ("md/pme/a.cpp", "return math::exp(x) + std::sqrt(x);  // std::exp(x)", False),
        ("md/pme/a.cpp", "auto x = std::uniform_real_distribution<double>(0, 1);", True),
        ("md/pme/a-inl.h", "const auto y = hn::MulAdd(a, b, c);", True),
        ("md/pme/a-inl.h", "const auto y = simd::MulAdd(a, b, c);", False),
        ("fft/lines/a.h", "constexpr long double pi = 3;", True),
        ("md/pme/a_test.cpp", "return std::exp(x);", False),
        ("machine/a.cpp", "return std::exp(x);", False),
    ],
)
def test_mathematics_of_a_library_is_found(
    path: str, line: str, is_found: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "cpp" / "tessera" / path
    file.parent.mkdir(parents=True)
    file.write_text(line + "\n")
    monkeypatch.setattr(mathematics, "ROOT", tmp_path)
    assert bool(mathematics.violations()) == is_found


@pytest.mark.parametrize(
    "text",
    [
        "[x](none.md)",
        '[x](none.md "title")',
        "[x][y]\n\n[y]: none.md",
        "![x](none.png)",
        "| a |\n|---|\n| [x](none.md) |",
        "[x](#another)",
        "[x](b.md#another)",
        "[x](#runtoml)\n\n```toml\n# run.toml\n```",
        "[x](#a-heading-1)",
    ],
)
def test_a_dead_link_is_found(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.md").write_text(f"# A heading\n\n{text}\n")
    (tmp_path / "b.md").write_text("# Other\n")
    monkeypatch.setattr(house, "ROOT", tmp_path)
    assert len(house.dead_links([Path("a.md")])) == 1


def test_good_links_are_not_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "# `A` heading, *again*\n## Twice\n## Twice\n[x](b.md#ångström) [y](#a-heading-again) [z](#twice-1) [w](https://x.y)"
    (tmp_path / "a.md").write_text(f"{text}\n`[x](none.md)`\n<!-- [x](none.md) -->\n")
    (tmp_path / "b.md").write_text("# Ångström\n")
    monkeypatch.setattr(house, "ROOT", tmp_path)
    assert not house.dead_links([Path("a.md")])


@pytest.mark.parametrize(
    ("line", "is_dead"),
    [
        ("// Figures: docs/@/a.md.", False),
        ("// Figures (docs/@/a.md#a-heading).", False),
        ('f"docs/@/{name}.md"', False),
        ("// Figures: docs/@/none.md.", True),
        ("// Figures: docs/@/a.md#another.", True),
        ("// Figures: docs/@/none/a", True),
    ],
)
def test_a_dead_citation_is_found(line: str, is_dead: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "docs" / "design").mkdir(parents=True)
    (tmp_path / "docs" / "design" / "a.md").write_text("# A heading\n")
    (tmp_path / "a.h").write_text(line.replace("@", "design") + "\n")
    monkeypatch.setattr(house, "ROOT", tmp_path)
    assert len(house.dead_citations([Path("a.h")])) == is_dead


@pytest.mark.parametrize("text", ["// see ADR @07", "decisions @07 and @08", "docs/decisions/@07-cells.md"])
def test_a_decision_cited_by_number_is_found(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.h").write_text(text.replace("@", "00") + "\n")
    monkeypatch.setattr(house, "ROOT", tmp_path)
    assert len(house.numbers_of_decisions([Path("a.h")])) == 1


def test_a_library_without_a_row_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "cpp" / "tessera" / "base"
    folder.mkdir(parents=True)
    (folder / "a.h").write_text("")
    (folder / "README.md").write_text("")
    (tmp_path / "README.md").write_text("[`base`](cpp/tessera/bases/README.md)")
    monkeypatch.setattr(house, "ROOT", tmp_path)
    assert len(house.readmes()) == 1


@pytest.mark.parametrize(
    "files",
    [
        {"python/a/b.py": "from a import c", "python/a/c.py": "def f():\n    import a.b"},
        {"cpp/tessera/io/a.h": '#include "tessera/io/b.h"', "cpp/tessera/io/b.cpp": '#include "tessera/io/a.h"'},
        {"cpp/tessera/io/a/a.h": '#include "tessera/io/b/b.h"', "cpp/tessera/io/b/c.h": '#include "tessera/io/a/d.h"'},
    ],
)
def test_a_circle_is_found(files: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text + "\n")
    monkeypatch.setattr(circles, "ROOT", tmp_path)
    assert len(circles.violations()) == 1


def test_a_leaf_that_uses_others_is_found() -> None:
    graph = {
        "tessera.prepare.a": {"tessera.prepare.b", "tessera.system.box", "tessera"},
        "tessera.traj": {"tessera.verify"},
    }
    assert not circles.beyond_leaves(graph)
    assert len(circles.beyond_leaves({**graph, "tessera.prepare.c": {"tessera.launch", "tessera.errors"}})) == 1


def test_a_citation_of_nothing_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "// Nobody et al. (2@1), 10.1@@/none.1; Else and\n// Nobody 2@2; papers @4"  # @: not found in this file
    (tmp_path / "a.h").write_text(text.replace("@", "00"))
    monkeypatch.setattr(house, "ROOT", tmp_path)
    monkeypatch.setattr(house, "files", lambda: [Path("a.h")])
    assert len(citations.violations()) == 4


@pytest.mark.parametrize(
    ("right", "wrong", "found"),
    [
        ("| all | 8", "| all | 9", "the summary has ['92'"),
        ("| Table 5 | the same beside much", "| Table 50 | the same beside much", "Table 5 has no row"),
        ("As for Table 2 | still to come |", "As for Table 2 | missing |", "the verdict is 'missing'"),
        ("As for Table 2 | still to come |", "still to come |", "has 4 columns"),
        ("| – | As for Table 2 | still to come |", "| – | As for Table 2 | shown |", "Figure 4: names no command"),
        ("2.59 on 65,536", "2.95 on 65,536", "2.95 is not in scale_fft"),
        ("made in 97.1 s ([setup]", "made in 97.1 s ([sets]", "no record has a section sets"),
    ],
)
def test_a_wrong_page_on_papers_is_found(right: str, wrong: str, found: str) -> None:
    text = (house.ROOT / papers_page.PAGE).read_text()
    assert text.count(right) == 1
    assert any(found in problem for problem in papers_page.violations(text.replace(right, wrong)))


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("/// The sum of both.\nint sum(int a, int b);", True),
        ("/// Whether there is one.\nbool is_there() const { return true; }", True),
        ("/// Sums of both.\nint sum(int a, int b);", True),
        ("/// Returns the sum\nint sum(int a, int b);", True),
        ("/// returns the sum.\nint sum(int a, int b);", True),
        ("class Sum {\n public:\n  /// Of both.\n  explicit Sum(std::span<int> all) : all_{all} {}\n};", True),
        ("namespace a {\nstruct B {\n  /// A copy.\n  [[nodiscard]] B operator()() const;\n};\n}", True),
        ("/// A copy.\ntemplate <class T>\nstd::function<T(T)> copy(const T& one);", True),
        ('/// A copy.\nextern "C" void copy();', True),
        ("/// Returns the sum of both.\nint sum(int a, int b);", False),
        ("/// Returns the sum of both:\n///   a + b\nint sum(int a, int b);", False),
        ("// Sums.\n\nint sum(int a, int b);", False),
        ("// NOLINTNEXTLINE(misc)\nint sum(int a, int b);", False),
        ("/// The sum.\nstruct alignas(64) Sum {};", False),
        ("/// The sum.\nstd::function<int(int, int)> sum;", False),
        ("/// The sum.\nint (*sum)(int a, int b);", False),
        ("/// The sum.\nconstexpr int sum = add(1, 2);", False),
        ("/// The sum.\nTEST(Sum, IsRight) {}", False),
        ("int f() {\n  // The sum.\n  print(sum);\n}", False),
    ],
)
def test_a_comment_without_a_verb_is_found(
    text: str, is_found: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.h").write_text(text + "\n")
    monkeypatch.setattr(comments, "ROOT", tmp_path)
    monkeypatch.setattr(house, "files", lambda: [Path("a.h")])
    assert len(comments.violations()) == is_found


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ('def total(a, b):\n    """The sum of both."""', True),
        ('def total(a, b):\n    """Returns the sum of both."""', False),
        ('@property\ndef total(self):\n    """The sum of all."""', False),
        ('@click.command()\ndef total():\n    """Print the sum."""', False),
    ],
)
def test_a_docstring_without_a_verb_is_found(
    text: str, is_found: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Path("python/tessera/a.py")
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_text(text + "\n")
    monkeypatch.setattr(comments, "ROOT", tmp_path)
    monkeypatch.setattr(house, "files", lambda: [path])
    assert len(comments.violations()) == is_found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("def total(a):\n    pass", ["total has no docstring"]),
        (
            'def total(a: FloatArray):\n    """Returns the sum."""',
            ["total has arrays, and its docstring no shape such as (n, 3)"],
        ),
        ('def total(a: FloatArray):\n    """Returns the sum of `a` (n, 3) Å."""', []),
        (
            'def total(a):\n    """Returns it."""\n    raise InputError("no")',
            ["total raises InputError, which its docstring does not say"],
        ),
        ('def total(a):\n    """Returns it. Raises InputError."""\n    raise InputError("no")', []),
        ('def _total(a):\n    pass\nclass A:\n    """A."""', []),
        ('class A:\n    """A."""\n    def b(self): pass', ["A.b has no docstring"]),
        (
            'class A:\n    """A."""\n    def b(s):\n        """B."""\nclass C(A):\n    """C."""\n    def b(s): pass',
            [],
        ),
        ('__all__ = ["A"]\nfrom tessera.b import A', ["A has no docstring"]),
        ('class A:\n    """A."""\n    b: int', ["A.b has no comment on its line, such as `# (n, 3) Å`"]),
        ('class A:\n    """A."""\n    _c: int\n    b: int  # of these\n    #: (n,)\n    d = 1', []),
        (
            'class A:\n    """A."""\n    def __init__(self):\n        c, self._d = 1, 2\n        self.b = c',
            ["A.b has no comment on its line, such as `# (n, 3) Å`"],
        ),
    ],
)
def test_a_public_name_that_says_too_little_is_found(
    text: str, found: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, content in {
        "docs/" + "python/a.md": "# A\n\n::: tessera.a\n",
        "python/tessera/a.py": text,
        "python/tessera/b.py": "class A: pass",
    }.items():  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content + "\n")
    monkeypatch.setattr(house, "ROOT", tmp_path)
    assert [one.partition(": ")[2] for one in public_names.violations()] == found
