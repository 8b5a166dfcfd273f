"""Compares docs/papers.md with itself and with the records: every figure, table and algorithm of a paper has a row, the
summary counts the rows, and numbers of outcomes are those of the sections named, which exist."""

import re
import sys
from collections import Counter
from pathlib import Path

import house

PAGE = Path("docs/papers.md")
VERDICTS = ("shown", "differs", "still to come")
#: What the papers number, by the first words of the headings.
NUMBERED = {
    "Borštnik et al. (2004)": "Figure 1, Figure 2, Figure 3, Figure 4, Table 1, Table 2",
    "Jung et al. (2019)": "Figure 1, Figure 2, Figure 3, Figure 4, Figure 5, Table 1, Table 2, Table 3, Algorithm 1, "
    "Algorithm 2, Algorithm 3, Algorithm 4, Appendix A",
    "Lowekamp and Beguelin (1995)": "Figure 1, Figure 2, Figure 3, Table 1, Table 2, Table 3, Table 4, Table 5, "
    "Table 6, Table 7",
    "Kristensen et al. (2011)": "Figure 2.1, Figure 3.1, Figure 4.1, Figure 4.2, Figure 5.1, Figure 5.2, Figure 6.1, "
    "Figure 7.1, Figure 7.2, Figure 7.3, Figure 7.4, Table 3.1",
    "Todorov et al.": "",
}
NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
RECORD = re.compile(r"\[(\w+)\]\(records/\w+\.md(?:#[\w-]+)?\)")
Rows = list[list[str]]


def table_below(text: str) -> Rows:
    """Returns the rows of the first table of a text, without its header."""
    found = re.search(r"(?:^\|.*\n)+", text + "\n", flags=re.M)
    lines = found[0].splitlines()[2:] if found else []
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def sections(text: str) -> dict[str, str]:
    """Returns the text below each heading of the second level; that of the top stands under an empty heading."""
    parts = re.split(r"^## (.+)\n", "## \n" + text if text.startswith("## ") else text, flags=re.M)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def record(name: str) -> str:
    """Returns the section of a record that a script writes under this name; empty where there is none."""
    pages = (path.read_text() for path in (house.ROOT / "docs" / "records").glob("*.md"))
    parts = (part for page in pages for part in re.split(r"^(?=## )", page, flags=re.M))
    return next((part for part in parts if f"<!-- bench:{name} -->" in part), "")


def wrong_counts(summary: Rows, by_paper: dict[str, Rows]) -> list[str]:
    """Compares the summary with the verdicts in the tables."""
    expected, total = {}, Counter[str]()
    for paper, rows in by_paper.items():
        verdicts = Counter(row[-1] for row in rows)
        expected[paper] = [str(len(rows)), *(str(verdicts[one]) for one in VERDICTS)]
        total.update(verdicts)
    expected["all"] = [str(total.total()), *(str(total[one]) for one in VERDICTS)]
    given = {re.sub(r"\[(.+)\]\(.*\)", r"\1", row[0]): row[1:] for row in summary}
    return [
        f"{PAGE}: the summary has {given.get(paper)} for {paper}; its table has {counts}"
        for paper, counts in expected.items()
        if given.get(paper) != counts
    ]


def wrong_row(paper: str, row: list[str]) -> list[str]:
    """Checks the verdict, the command and the numbers of one row."""
    if len(row) != 5:
        return [f"{PAGE}: a row of {paper} has {len(row)} columns, not 5: {row[0]}"]
    what, _, command, outcome, verdict = row
    where = f"{PAGE}: {paper}, {what}"
    if verdict not in VERDICTS:
        return [f"{where}: the verdict is {verdict!r}; expected {', '.join(VERDICTS)}"]
    found = []
    if verdict != "still to come" and "`" not in command:
        found.append(f"{where}: names no command")
    names = RECORD.findall(outcome)
    if names:
        known = set(NUMBER.findall(" ".join(map(record, names))))
        plain = re.sub(r"`[^`]*`|\]\([^)]*\)", "", outcome)
        found += [
            f"{where}: {number} is not in {' or '.join(names)}"
            for number in NUMBER.findall(plain)
            if ("." in number or len(number) > 2) and number not in known
        ]
    return found


def unknown_records(text: str) -> list[str]:
    """Finds links named after a section that no script writes."""
    return [f"{PAGE}: no record has a section {name}" for name in sorted(set(RECORD.findall(text))) if not record(name)]


def violations(text: str | None = None) -> list[str]:
    """Returns what is wrong in the page, or in this text of it."""
    text = (house.ROOT / PAGE).read_text() if text is None else text
    below = sections(text)
    by_paper: dict[str, Rows] = {}
    found = []
    for paper, numbered in NUMBERED.items():
        by_paper[paper] = table_below(next((below[one] for one in below if one.startswith(paper)), ""))
        names = [row[0] for row in by_paper[paper]]
        for name in filter(None, numbered.split(", ")):
            if not any(re.fullmatch(rf"{re.escape(name)}(\D.*)?", one) for one in names):
                found.append(f"{PAGE}: {paper}: {name} has no row")
        found += [problem for row in by_paper[paper] for problem in wrong_row(paper, row)]
    found += wrong_counts(table_below(below[""]), by_paper)
    return found + unknown_records(text)


if __name__ == "__main__":
    sys.exit("\n".join(violations()) or None)
