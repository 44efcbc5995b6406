"""Whose code stands in a call site: what marks where torch itself called the user's code, and what
belongs to an installed library."""

from __future__ import annotations

from types import CodeType

# Between the function that torch's checkpoint called and the frame that called checkpoint.
CHECKPOINT = compile("", "<checkpoint>", "exec")

# Between a module's forward and the frame that called the module, where a hook changed the
# arguments.
REPLACED = compile("", "<forward pre-hook>", "exec")

# Between the file of a cell and the line of the magic in it that compiled a text by itself.
MAGIC = "#magic-"

INSTALLED = ("site-packages", "dist-packages")  # folders of libraries


def is_installed(code: CodeType) -> bool:
    """Say whether it is code of an installed library."""
    return is_installed_file(code.co_filename)


def is_installed_file(filename: str) -> bool:
    """Say whether a file is one of an installed library.

    >>> is_installed_file("/venv/lib/site-packages/torch/nn/modules/linear.py")
    True
    """
    return any(folder in filename for folder in INSTALLED)
