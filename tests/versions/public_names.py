"""List the public names of torch that a version has, and compare two versions.

    python tests/versions/public_names.py > oldest.txt       with the oldest torch that is supported
    python tests/versions/public_names.py > newest.txt       with the newest python
    tests/versions/public_names.py oldest.txt newest.txt > tests/versions/not_in_every_torch.txt

What the third call prints is what gradviz may read in ``torch_private.py`` alone: names that one of
the two lacks.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

COMMON = set(dir(list)) | set(dir(dict)) | set(dir(str))


def homes() -> dict[str, Any]:
    """Where gradviz reads torch: modules, classes, and nodes of the graph."""
    import torch

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            return grad * 2

    leaf = torch.ones(2, requires_grad=True)
    product, custom = (leaf * leaf).grad_fn, Double.apply(leaf).grad_fn
    assert product is not None
    found: list[Any] = [
        torch,
        torch.autograd,
        torch.autograd.graph,
        torch.autograd.function,
        torch.nn,
        torch.nn.functional,
    ]
    found += [
        torch.optim,
        torch.overrides,
        torch.compiler,
        torch.amp,
        torch.linalg,
        torch.Tensor,
        torch.nn.Parameter,
    ]
    found += [
        torch.nn.Module,
        torch.optim.Optimizer,
        torch.amp.GradScaler,
        torch.UntypedStorage,
        torch.autograd.Function,
    ]
    found += [
        type(product),
        type(product.next_functions[0][0]),
        type(custom),
        type(product._raw_saved_self),
    ]
    return {getattr(home, "__name__", str(home)): home for home in found}


def main(arguments: list[str]) -> None:
    if arguments:
        oldest, newest = (set(Path(name).read_text("utf-8").split()) for name in arguments)
        different = {name.split(":")[1] for name in oldest ^ newest}
        in_both = {name.split(":")[1] for name in oldest & newest}
        print("\n".join(sorted(different - in_both - COMMON)))
        return
    for place, home in homes().items():
        names = [n for n in dir(home) if not n.startswith("_")]
        print("\n".join(f"{place}:{name}" for name in names))


if __name__ == "__main__":
    main(sys.argv[1:])
