"""Arguments of torch's functions that are plain numbers: a tensor that is put there raises, or gets
no gradient. What to compute instead. Reads code, runs none of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import NamedTuple

# how torch's functions are called in code
_OWNERS = {"", "torch", "F", "nn.functional", "functional", "torch.nn.functional"}
_OUT = ("item", "tolist", "detach")  # methods that let a value out, or cut it off
_NAMES = ("h", "z", "value", "computed")  # for what a formula has twice


class Numeric(NamedTuple):
    """A function of torch's.

    Attributes:
        parameters: what its positional arguments are called.
        instead: by the parameter that has to be a number, the same computed with tensors: ``{v}``
            stands for the number, other names for other arguments; "" where it is not written in
            one line.
        defaults: of the arguments that the formula names.
    """

    parameters: list[str]
    instead: Mapping[str, str]
    defaults: Mapping[str, str] = {}


NUMERIC = {
    "leaky_relu": Numeric(
        "input negative_slope".split(),
        {"negative_slope": "torch.where({input}>0,{input},{v}*{input})"},
    ),
    "elu": Numeric(
        "input alpha".split(),
        {"alpha": "torch.where({input}>0,{input},{v}*torch.expm1({input}.clamp(max=0)))"},
    ),
    "softplus": Numeric("input beta".split(), {"beta": "F.softplus({v}*{input})/{v}"}),
    "hardtanh": Numeric(
        "input min_val max_val".split(),
        {
            "min_val": "torch.minimum(torch.maximum({input},{v}),torch.tensor({max_val}))",
            "max_val": "torch.maximum(torch.minimum({input},{v}),torch.tensor({min_val}))",
        },
        {"min_val": "-1.0", "max_val": "1.0"},
    ),
    "linspace": Numeric(
        "start end steps".split(),
        {
            "start": "{v}+({end}-{v})*torch.linspace(0,1,{steps})",
            "end": "{start}+({v}-{start})*torch.linspace(0,1,{steps})",
        },
    ),
    "full": Numeric("size fill_value".split(), {"fill_value": "{v}*torch.ones({size})"}),
    "full_like": Numeric(
        "input fill_value".split(), {"fill_value": "{v}*torch.ones_like({input})"}
    ),
    "add": Numeric("input other".split(), {"alpha": "{input}+{v}*{other}"}),
    "sub": Numeric("input other".split(), {"alpha": "{input}-{v}*{other}"}),
    "celu": Numeric("input alpha".split(), {"alpha": ""}),
    "huber_loss": Numeric("input target reduction delta".split(), {"delta": ""}),
    "smooth_l1_loss": Numeric("input target".split(), {"beta": ""}),
    "triplet_margin_loss": Numeric("anchor positive negative margin".split(), {"margin": ""}),
    "margin_ranking_loss": Numeric("input1 input2 target margin".split(), {"margin": ""}),
    "cosine_embedding_loss": Numeric("input1 input2 target margin".split(), {"margin": ""}),
    "cross_entropy": Numeric("input target".split(), {"label_smoothing": ""}),
    "scaled_dot_product_attention": Numeric("query key value".split(), {"scale": ""}),
}


class NumberArgument(NamedTuple):
    """A number that was made of a tensor for an argument which has to be one.

    Attributes:
        function: of torch's.
        argument: of the function.
        value: what the number was made of, as code.
        instead: what computes the same with tensors; "" where that is not known.
        first: the statement that stands before it, where it names what is computed; "" for none.
    """

    function: str
    argument: str
    value: str
    instead: str
    first: str = ""


def number_argument(code: str, kept: str = "") -> NumberArgument | None:
    """Return the first argument in a statement that has to be a number, and is made of a tensor
    there; None where there is none.

    Args:
        code: of the statement.
        kept: the variable that holds the number, where it was made before.

    >>> number_argument("y = F.leaky_relu(x, negative_slope=float(self.weight))").instead
    'torch.where(x > 0, x, self.weight * x)'
    >>> number_argument("m = torch.linspace(1, w.detach().item(), 8)").instead
    '1 + (w - 1) * torch.linspace(0, 1, 8)'
    >>> number_argument("y = F.leaky_relu(x, 0.2)"), number_argument("y = f(w.item())")
    (None, None)
    >>> number_argument("y = F.leaky_relu(x, slope)", "slope").instead
    'torch.where(x > 0, x, slope * x)'
    >>> number_argument("y = F.leaky_relu(f(x), w.item())")[3:]
    ('torch.where(h > 0, h, w * h)', 'h = f(x)')
    """
    try:
        nodes = [*ast.walk(ast.parse(code.strip()))]
    except (SyntaxError, ValueError):
        return None
    found = (one for node in nodes if isinstance(node, ast.Call) for one in _numbers_of(node, kept))
    return next(found, None)


def _numbers_of(call: ast.Call, kept: str) -> Iterator[NumberArgument]:
    """Yield the arguments of one call that have to be numbers, and are made of tensors there."""
    owner, _, name = ast.unparse(call.func).rpartition(".")
    function = NUMERIC.get(name) if owner in _OWNERS else None
    if function is None:
        return
    given = dict(zip(function.parameters, call.args, strict=False))
    given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    for argument, instead in function.instead.items():
        value = _tensor_in(given[argument], kept) if argument in given else None
        if value is not None:
            first, formula = _filled(instead, function.defaults, {**given, "v": value})
            called = f"{owner}.{name}".strip(".")
            yield NumberArgument(called, argument, ast.unparse(value), formula, first)


def _tensor_in(value: ast.expr, kept: str) -> ast.expr | None:
    """Return what a number is made of: ``w`` of ``float(w)`` and of ``w.detach().item()``, and the
    variable that holds it; None where it is made of nothing in this expression."""
    if kept and ast.unparse(value) == kept:
        return value
    inner, is_out = value, False
    while isinstance(inner, ast.Call):
        if isinstance(inner.func, ast.Name) and inner.func.id == "float" and inner.args:
            inner, is_out = inner.args[0], True
        elif isinstance(inner.func, ast.Attribute) and inner.func.attr in _OUT:
            inner, is_out = inner.func.value, True
        else:
            break
    return inner if is_out else None


def _filled(
    formula: str, defaults: Mapping[str, str], given: Mapping[str, ast.expr]
) -> tuple[str, str]:
    """Return the statement before a formula, and the formula with its arguments: what it has twice
    and is computed there gets a name first. Both "" where an argument is not given in the call."""
    known = {**defaults, **{key: f"({ast.unparse(node)})" for key, node in given.items()}}
    computed, first = given.get("input"), ""
    is_twice = formula.count("{input}") > 1
    if computed is not None and is_twice and not isinstance(computed, (ast.Name, ast.Attribute)):
        used = {n.id for node in given.values() for n in ast.walk(node) if isinstance(n, ast.Name)}
        known["input"] = next((name for name in _NAMES if name not in used), "it")
        first = f"{known['input']} = {ast.unparse(computed)}"
    try:
        filled = formula.format(**known)
    except KeyError:
        return "", ""
    return (first, ast.unparse(ast.parse(filled, mode="eval"))) if filled else ("", "")
