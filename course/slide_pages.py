"""Slides of notebooks, each as one file that opens without network: ``make slides``, or
``python -m course.slide_pages FOLDER``.

reveal.js comes from the packages of ``frontend/package-lock.json`` and is written into the page.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from nbconvert import SlidesExporter

from .books import FOLDER, ROOT
from .slides import SHOWN

REVEAL = ROOT / "frontend" / "node_modules" / "reveal.js"
SCRIPTS = ("dist/reveal.js", "plugin/notes/notes.js")
STYLES = ("dist/reveal.css", "dist/theme/simple.css")
HERE = Path(__file__).parent


def page(name: str) -> str:
    """Return the slides of a notebook as one page that loads nothing.

    Args:
        name: of the notebook, without its ending.

    Raises:
        ValueError: a stylesheet that was to be written into the page is not asked for by it.
    """
    _install()
    exporter = SlidesExporter(
        template_name="slide_template",
        extra_template_basedirs=[str(HERE)],
        reveal_url_prefix=".",
        exclude_input_prompt=True,  # In [1] says nothing on a slide, in a grey that is hard to read
        exclude_output_prompt=True,
    )
    scripts = [_read(script).replace("</script", r"<\/script") for script in SCRIPTS]
    path = FOLDER / f"{name}.ipynb"
    made, _ = exporter.from_filename(str(path), resources={"slides": {"scripts": scripts}})
    html = str(made)
    for style in STYLES:
        rules = re.sub(r"@import [^;]*;", "", _read(style))  # fonts of its own
        link = re.compile(rf'<link [^>]*href="\./{re.escape(style)}"[^>]*>')
        html, count = link.subn(lambda _, rules=rules: f"<style>{rules}</style>", html)  # type: ignore[misc]
        if count != 1:
            raise ValueError(f"nbconvert's slides ask {count} times for {style}, not once")
    return re.sub(
        r'<a href="\w+\.ipynb[^"]*">(.*?)</a>', r"\1", html
    )  # no notebook stands beside it


def _install() -> None:
    """Install the packages of the front end, where that was not done yet."""
    sys.path.insert(0, str(ROOT / "frontend"))
    import run  # type: ignore[import-not-found]

    run.install()


def _read(name: str) -> str:
    """Return a file of reveal.js, without the name of what it was made from."""
    text = (REVEAL / name).read_text(encoding="utf-8")
    return re.sub(r"(?m)^(//|/\*)# sourceMappingURL=.*$", "", text)


def main(folder: Path) -> None:
    """Write the slides of each notebook that has some."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in SHOWN:
        path = folder / f"{name}.html"
        path.write_text(page(name), encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "slides")
