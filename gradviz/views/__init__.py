"""What shows a graph: still, live, step by step, as a page."""

from importlib.resources import files


def static(*names: str) -> str:
    """The text of files of ``static/``, one after the other."""
    return "\n".join(
        (files(__package__) / "static" / name).read_text(encoding="utf-8") for name in names
    )
