"""Finds citations (authors with a year, and DOIs) that are not in docs/bibliography.md."""

import re
import sys

import house

BIBLIOGRAPHY = house.ROOT / "docs" / "bibliography.md"
AUTHORS = re.compile(r"\b([A-Z]\w+(?: and [A-Z]\w+| et al\.)) \(?((?:19|20)\d\d)\b")
DOI = re.compile(r"\b10\.\d{4,5}/[^\s,\"\]]*[\w)]")
NUMBERED = re.compile(r"[Pp]apers? ?[:(]?\s*0\d\d")


def violations() -> list[str]:
    known = BIBLIOGRAPHY.read_text()
    found = []
    for path in house.files():
        if path.suffix not in {".h", ".cpp", ".py", ".md", ".toml"} or path.parts[0] == "machines":
            continue
        text = re.sub(r"\n\s*(//+|#)?\s*", " ", (house.ROOT / path).read_text())  # a citation may span two lines
        for match in AUTHORS.finditer(text):
            key = f"{match[1]} ({match[2]})"
            if f"{key}**" not in known:
                found.append(f"{path}: {key} is not in docs/bibliography.md")
        for match in DOI.finditer(text):
            if match[0].rstrip(").") not in known:
                found.append(f"{path}: {match[0]} is not in docs/bibliography.md")
        if NUMBERED.search(text):
            found.append(f"{path}: cite a paper by authors and year, not by a number")
    return found


if __name__ == "__main__":
    sys.exit("\n".join(violations()) or None)
