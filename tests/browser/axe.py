"""What axe-core, which tells what keeps people from using a page, finds in one."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from typing import Any

from lab import ROOT
from playwright.sync_api import Page

FRONTEND = ROOT / "frontend"
# Rules of WCAG 2.2 at its levels A and AA, and axe's own of good practice.
FIND = """async ([within, off]) => {
    const rules = Object.fromEntries(off.map(rule => [rule, {enabled: false}]));
    const found = await axe.run(within ? {include: [within]} : document, {rules, resultTypes: ["violations"]});
    return found.violations.map(({id, nodes}) => [id, nodes.map(node => `${node.target} ${node.failureSummary}`)]);
}"""


@cache
def _script() -> str:
    """Return axe-core, from the packages of the front end's lock file."""
    subprocess.run([sys.executable, "-c", "import run; run.install()"], cwd=FRONTEND, check=True)
    return (FRONTEND / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


def violations(page: Page, within: str = "", *, off: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return what is wrong on a page, or within a part of it: rule -> elements, each with what it
    lacks.

    Args:
        within: a CSS selector; "" for the page.
        off: rules that are not this part's to keep.
    """
    page.evaluate(f"() => {{ if (!window.axe) {{ {_script()} }} }}")
    return dict(page.evaluate(FIND, [within, list(off)]))
