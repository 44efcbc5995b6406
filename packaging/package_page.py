"""What a package page needs and a repository does not: ``python packaging/package_page.py
https://github.com/OWNER/REPOSITORY v0.1.0``, run in a checkout before ``python -m build``.

A package page shows the README far from its files, so links and pictures become addresses of that
tag, and ``project.urls`` names the repository. The repository itself has neither: a copy of it
under another address keeps leading into itself.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
URLS = "[project.urls]\n"


def absolute(text: str, home: str, tag: str) -> str:
    """Return a README whose links into the repository are addresses of a tag.

    Args:
        text: in Markdown.
        home: the address of the repository.
        tag: the tag, or a commit.
    """

    def address(found: re.Match[str]) -> str:
        mark, before, target = found.groups()
        if "://" in target or target.startswith("#"):
            return found[0]
        kind = "raw" if mark else "blob"
        return f"{mark}[{before}]({home}/{kind}/{tag}/{target})"

    # the words in brackets may hold brackets of their own, as in "[2, 2, 2]" or a list
    return re.sub(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^)\s]+)\)", address, text)


def with_urls(pyproject: str, home: str) -> str:
    """Return a pyproject.toml that names the repository."""
    if URLS in pyproject:
        raise SystemExit("pyproject.toml has its project.urls already")
    urls = {
        "Source": home,
        "Documentation": f"{home}/tree/main/docs",
        "Changelog": f"{home}/blob/main/CHANGELOG.md",
        "Issues": f"{home}/issues",
    }
    lines = "".join(f'{name} = "{address}"\n' for name, address in urls.items())
    return pyproject.replace(
        "[project.optional-dependencies]\n", f"{URLS}{lines}\n[project.optional-dependencies]\n", 1
    )


def main(home: str, tag: str) -> None:
    """Rewrite both files of this checkout."""
    for name, made in (
        ("README.md", lambda text: absolute(text, home, tag)),
        ("pyproject.toml", lambda text: with_urls(text, home)),
    ):
        path = ROOT / name
        path.write_text(made(path.read_text("utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
