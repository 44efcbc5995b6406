"""What is installed beside gradviz: a torch that is new enough, and no other package in its place.

Asked once, when gradviz is imported; imports neither torch nor anything else that takes time.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from importlib.util import find_spec

# on PyPI, "gradviz" is another project, which also imports as gradviz
DISTRIBUTION = "torch-gradviz"
VERSION = "0.1.0"
OLDEST_TORCH = (2, 11)  # the first that tells all that a recording says, see docs/versions.md
_HERE = os.path.dirname(os.path.abspath(__file__))
_SUMMARY = "Summary: See what PyTorch's autograd does, and what it forgets"


class OtherGradviz(UserWarning):
    """Another distribution, whose package is called gradviz too, is installed beside this one."""


def release(version: str) -> tuple[int, int] | None:
    """Return the first two numbers of a version; None where it does not begin with two.

    >>> release("2.13.0+cpu"), release("2.16.0a0+git1f2e"), release("2.9.1"), release("nightly")
    ((2, 13), (2, 16), (2, 9), None)
    """
    found = re.match(r"(\d+)\.(\d+)", version)
    return (int(found[1]), int(found[2])) if found else None


def torch_version() -> str | None:
    """Return the version of the torch that is imported, or would be; None where that is not known
    without importing it."""
    loaded = sys.modules.get("torch")
    if loaded is not None:
        version = getattr(loaded, "__version__", None)
        return None if version is None else str(version)
    try:
        spec = find_spec("torch")
        if spec is None or spec.origin is None:
            return None
        with open(
            os.path.join(os.path.dirname(spec.origin), "version.py"), encoding="utf-8"
        ) as file:
            found = re.search(r"^__version__ = ['\"]([^'\"]+)['\"]", file.read(), re.MULTILINE)
    except (OSError, ValueError, ImportError):
        return None
    return found[1] if found else None


def require_torch(version: str | None) -> None:
    """Refuse a torch that is too old. A version that cannot be read is not refused.

    Raises:
        ImportError: what is installed, what is needed, and how to get it.
    """
    found = None if version is None else release(version)
    if found is not None and found < OLDEST_TORCH:
        oldest = ".".join(map(str, OLDEST_TORCH))
        raise ImportError(
            f"torch {version} is installed; gradviz needs torch {oldest} or newer: an older one"
            " does not tell of "
            "every backward, nor which saved tensors were overwritten; fix: pip install --upgrade"
            f' "torch>={oldest}"'
        )


def other_gradviz() -> str | None:
    """Return the version and place of another distribution called gradviz, where one is installed;
    None else."""
    for folder in dict.fromkeys(sys.path):
        try:
            names = os.listdir(folder or ".")
        except OSError:  # a zip file, or a folder that is not there
            continue
        for name in names:
            is_one = name.startswith("gradviz-") and name.endswith(".dist-info")
            if is_one and not _is_own(os.path.join(folder, name, "METADATA")):
                return f"gradviz {name[len('gradviz-') : -len('.dist-info')]} in {folder}"
    return None


def _is_own(metadata: str) -> bool:
    """Tell whether a distribution is this project, installed when it was still called gradviz."""
    try:
        with open(metadata, encoding="utf-8") as file:
            return _SUMMARY in file.read(2000)
    except (OSError, ValueError):
        return False


def require_own_package() -> None:
    """Refuse to be a part of the other project's package, whose ``__init__.py`` was put over this
    one's.

    Raises:
        ImportError: what stands there, and how to fix it.
    """
    package = sys.modules[__package__]
    if "record" not in getattr(package, "__all__", ()):
        raise ImportError(
            f"{package.__file__} belongs to another project that is called gradviz too, and was put"
            f" over {DISTRIBUTION}; fix: pip uninstall gradviz {DISTRIBUTION}, then install"
            f" {DISTRIBUTION} again"
        )


def warn_of_other_gradviz() -> None:
    """Say so if both are installed: whichever is installed or upgraded later puts its files over
    the other's."""
    other = other_gradviz()
    if other is not None:
        warnings.warn(
            f"another project's {other} is installed beside {DISTRIBUTION}, and both are imported"
            f" as gradviz: this is {DISTRIBUTION}, from {_HERE}; the next install or upgrade of the"
            f" other one replaces it; fix: pip uninstall gradviz {DISTRIBUTION}, then install"
            f" {DISTRIBUTION} again",
            OtherGradviz,
            stacklevel=3,
        )
