"""What MkDocs does with a page beside what it does by itself: links into the rest of the checkout become text."""

from __future__ import annotations

import posixpath
import re
from typing import Any

#: code, which is left alone, or [text](target); a picture has its own rules
_CODE_OR_LINK = re.compile(
    r"^```.*?^```|`[^`\n]+`|(?<!!)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^()\s]+)\)",
    re.MULTILINE | re.DOTALL,
)


def outside(page: str, target: str) -> str:
    """Returns the path in the checkout to which a link leads, if that is no file of docs/; else an empty text. `page`
    is the path in docs/ of the page with the link."""
    name = target.partition("#")[0]
    if not name or re.match(r"\w+:", name):
        return ""
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), name))
    return "" if path.startswith("docs/") and "." in posixpath.basename(path) else path


def without_links_outside(text: str, page: str) -> str:
    """Returns the text of a page in which links to files that the site lacks are their text and the file's path."""

    def plain(found: re.Match[str]) -> str:
        path = outside(page, found["target"]) if found["target"] else ""
        if not path:
            return found[0]
        return found["text"] if path in found["text"] else f"{found['text']} (`{path}`)"

    return _CODE_OR_LINK.sub(plain, text)


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Prepares the text of a page, as MkDocs asks of a hook."""
    return without_links_outside(markdown, page.file.src_uri)
