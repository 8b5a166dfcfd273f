"""Takes the comment of a public attribute, which has its shape and unit, for what the site says of it: the one that
ends its line, or those above that begin with `#:`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from griffe import Attribute, Docstring, Extension

#: a comment behind code on its line, outside texts
_COMMENT = re.compile(r"""^(?:[^#"']|"[^"]*"|'[^']*')*?\s# (?P<words>[^#]+)$""")


def comment_of(lines: Sequence[str], first: int, last: int) -> str:
    """Returns the comment of the code in these lines, counted from 0. Empty: there is none, or it is for a tool."""
    above = first
    while above and lines[above - 1].lstrip().startswith("#:"):
        above -= 1
    words = [line.strip().removeprefix("#:").strip() for line in lines[above:first]]
    if not words and (found := _COMMENT.match(lines[last])):
        words = [found["words"].strip()]
    return "" if words and re.match(r"type:|noqa|fmt:", words[0]) else " ".join(words)


class AttributeComments(Extension):
    """Gives attributes that have no docstring their comments."""

    def on_attribute(self, *, attr: Attribute, **_: Any) -> None:
        """Looks at an attribute, as griffe asks of an extension."""
        if attr.docstring or attr.lineno is None or attr.endlineno is None:
            return
        if words := comment_of(attr.lines_collection[attr.filepath], attr.lineno - 1, attr.endlineno - 1):
            attr.docstring = Docstring(words[0].upper() + words[1:] if words[:1].islower() else words, parent=attr)
