"""It is a result, whose .grad is not kept; perhaps its name was that of a leaf. Knows no torch."""

from __future__ import annotations

import ast
from collections.abc import Set

from gradviz.graph.findings import Cause
from gradviz.graph.records import Call, Tensor
from gradviz.names.frames import frames, names_in, names_kept, names_read, variables_of
from gradviz.why.code.comparisons import bracketed
from gradviz.why.evidence.paths import Asked
from gradviz.why.rules.gradients.gradient import Gradients
from gradviz.why.rules.gradients.not_in_loss import derived_for_loss
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import Code, say, several

# calls that give a result the name of the leaf that went in
SCALING = {
    "to",
    "cuda",
    "cpu",
    "double",
    "float",
    "half",
    "bfloat16",
    "type",
    "mul",
    "div",
    "clone",
    "contiguous",
}


def not_kept(gradients: Gradients, asked: Asked) -> bool:
    """Say whether it is a result whose .grad is not kept."""
    return not asked.is_leaf and not asked.retains_grad


def updated_unseen(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell that an update under no_grad made it, and it took the name of the leaf: ``w = w - lr
    * w.grad``. What a library makes of a leaf in each forward, as a pruned weight, has another's
    code."""
    maker, states = gradients.maker(asked), gradients.states(asked)
    if maker is None or maker.grad_mode or not states or is_of_a_library(maker):
        return None
    name = states[-1].code_name
    sources = (gradients.graph.tensor[i] for i in maker.inputs)
    leaves = [
        t for t in sources if t.is_leaf and t.requires_grad and t.object_id != states[-1].object_id
    ]
    namesakes = [t for t in leaves if name and (t.former.name if t.former else t.name) == name]
    if not namesakes:
        return None
    return gradients.answer(
        asked,
        Cause.REBOUND,
        "updated_unseen",
        calls=[maker],
        tensors=[namesakes[-1].id],
        code=gradients.words.code(maker),
    )


def is_of_a_library(maker: Call) -> bool:
    """Say whether a call stands in a library's code, which ran inside of a module's call: that is
    called by its module, and the statement of the program that led there is another one."""
    source = maker.source
    if maker.module is None or source is None or not source.frames:
        return False
    return (source.code or "") not in source.frames[0].code


def calls_that_made(gradients: Gradients, asked: Asked) -> list[Call]:
    """Return the call that made it, where one is known."""
    maker = gradients.maker(asked)
    return [maker] if maker else []


def checked_of_result(gradients: Gradients, asked: Asked) -> tuple[str, ...]:
    """Return the keys of what cannot be the cause of a result's missing .grad."""
    return ("cut", "never_tracked") if is_reached(gradients, asked) else ("never_tracked",)


def is_reached(gradients: Gradients, asked: Asked) -> bool:
    """Say whether a gradient path leads to a result from the loss, or from another one on which a
    recorded backward was called: two terms of a loss may be asked about, and neither leads to the
    other."""
    if gradients.reaches(asked):
        return True
    end = gradients.node_of(asked)
    runs = (b for b in gradients.graph.backwards if b.kind == "backward" and b.raised_at is None)
    return end is not None and any(end[0] in gradients.facts.reachable(b.roots) for b in runs)


def rebound(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell that its name was that of a leaf before."""
    parent, has_its_name = leaf_above(gradients, asked)
    if parent is None or not has_its_name:
        return None
    maker = gradients.maker(asked)
    code = gradients.words.code(maker)
    form = _form_of_rebound(parent, asked.name, code)
    alike = _updates_alike(gradients, maker) if form == "updated" else []
    form = "updated_each" if len(alike) > 1 else form
    leaf_anew = _leaf_anew(gradients, asked, maker) if form == "named_anew" else ""
    form = "updated_in_lines" if leaf_anew else form
    return gradients.answer(
        asked,
        Cause.REBOUND,
        form,
        calls=calls_that_made(gradients, asked),
        tensors=[parent.id],
        checked=checked_of_result(gradients, asked),
        code=code,
        in_place=Code(in_place(code)),
        updates=[Code(in_place(one)) for one in alike],
        codes=[Code(one) for one in alike],
        anew=Code(leaf_anew),
    )


def _leaf_anew(gradients: Gradients, asked: Asked, maker: Call | None) -> str:
    """Return the statement that gives a name to a result, as one that makes a leaf of it, where
    the same function computes that name from its own .grad: a step of an attack, in several lines.
    "" where it does not."""
    if maker is None or not frames(maker):
        return ""
    statement = frames(maker)[0]
    target, _, value = statement.code.partition(" = ")
    if target != asked.name or not value or value.endswith("…"):
        return ""
    codes = _statements_beside(gradients, maker)
    is_updated = any(f"{target}.grad" in code and target in names_in(code)[0] for code in codes)
    return f"{target} = {bracketed(value)}.detach().requires_grad_()" if is_updated else ""


def _updates_alike(gradients: Gradients, maker: Call | None) -> list[str]:
    """Return the statements of one function that each give the name of a leaf to its update: with
    one of them mended, what the next one left behind would be missed."""
    codes = [] if maker is None else _statements_beside(gradients, maker)
    return [code for code in codes if ".grad" in code and in_place(code)]


def _statements_beside(gradients: Gradients, maker: Call) -> list[str]:
    """Return the statements that ran in the function of a call, each once."""
    here = [variables_of(frame) for frame in frames(maker)[:1]]
    statements = (frame for call in gradients.graph.calls for frame in frames(call)[:1])
    return list(dict.fromkeys(f.code for f in statements if [variables_of(f)] == here))


def _form_of_rebound(leaf: Tensor, name: str, code: str) -> str:
    """Tell how a name lost its leaf. Of a leaf that has another name of its own, as of the
    variable of a loop over parameters, only a write in place can keep it."""
    if ".grad" not in code:
        return "named_anew"
    if leaf.code_name != name and in_place(code):
        return "updated_of_another"
    return "added_to" if f"{name} + " in code else "updated"


def in_place(code: str) -> str:
    """Return an update that makes a new tensor as one that writes; "" where it has another form.

    >>> in_place("w = w - lr * w.grad / n"), in_place("w = w - a + w.grad")
    ('w -= lr * w.grad / n', '')
    """
    target, _, value = code.partition(" = ")
    for sign in "+-":
        start = f"{target} {sign} "
        if target.isidentifier() and value.startswith(start) and _is_one_term(value, start):
            return f"{target} {sign}= {value.removeprefix(start)}"
    return ""


def _is_one_term(value: str, start: str) -> bool:
    """Say whether all of a sum but its first summand is one summand."""
    try:
        tree = ast.parse(value, mode="eval").body
    except SyntaxError:  # a line that is told shortened
        return False
    return isinstance(tree, ast.BinOp) and ast.unparse(tree.left) == start[:-3]


def made_non_leaf(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell that the call that made it took the place of the leaf at once."""
    parent, has_its_name = leaf_above(gradients, asked)
    maker = gradients.maker(asked)
    if parent is None or has_its_name or maker is None:
        return None
    return gradients.answer(
        asked,
        Cause.MADE_NON_LEAF,
        "made_a_result",
        calls=[maker],
        tensors=[parent.id],
        checked=checked_of_result(gradients, asked),
        function=maker.function,
    )


def derivative_in_loss(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell of a result that no backward comes to, as the loss is made of its derivatives alone."""
    node = gradients.node_of(asked)
    if node is None or not _is_in_no_loss(gradients, asked):
        return None
    derived = derived_for_loss(gradients, {node[0]})
    if derived is None:
        return None
    return gradients.answer(
        asked,
        Cause.HEALTHY,
        "derivative_in_loss",
        calls=[derived],
        checked=("never_tracked",),
        code=gradients.words.at(derived),
    )


def _is_in_no_loss(gradients: Gradients, asked: Asked) -> bool:
    """Say whether a recording proves that no backward comes to a result."""
    is_proven = gradients.cut_off(asked) and gradients.is_whole_for(asked)
    return is_proven and not is_reached(gradients, asked)


def in_no_loss(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell of a result that no backward comes to: nothing that was made from it is in a loss."""
    if not _is_in_no_loss(gradients, asked):
        return None
    return gradients.answer(
        asked,
        Cause.NOT_IN_LOSS,
        "result_in_no_loss",
        calls=calls_that_made(gradients, asked),
        checked=("never_tracked",),
        leaves=several(gradients.leaves_of(asked)) or say("gradient.the_leaves"),
    )


def is_a_result(gradients: Gradients, asked: Asked) -> Explanation:
    """Tell that its gradient goes on to the leaves, or would, where no loss is known."""
    leaves = gradients.leaves_of(asked)
    unnamed = behind_is_unnamed(gradients, asked)
    return gradients.answer(
        asked,
        Cause.NON_LEAF,
        "result_like_leaf"
        if like_leaf_above(gradients, asked)
        else "result_of_unnamed"
        if unnamed
        else ("result" if is_reached(gradients, asked) else "result_unused_yet"),
        calls=calls_that_made(gradients, asked),
        checked=checked_of_result(gradients, asked),
        leaves=several(leaves) if leaves else say("gradient.the_leaves"),
    )


def behind_is_unnamed(gradients: Gradients, asked: Asked) -> bool:
    """Say whether none of the leaves behind it has a name, so that nobody can read their
    ``.grad``."""
    start = gradients.node_of(asked)
    leaves = [] if start is None else gradients.facts.leaves_below(start[0])
    return bool(leaves) and not any(t.code_name for t in leaves)


def like_leaf_above(gradients: Gradients, asked: Asked) -> bool:
    """Say whether a leaf of its shape is directly above it, and no recording tells the name of
    that."""
    if gradients.recorded:
        return False
    return any(
        t.shape == gradients.states(asked)[-1].shape
        for t in gradients.flow.leaves_directly_behind(asked.tensor_id)
    )


def leaf_above(gradients: Gradients, asked: Asked) -> tuple[Tensor | None, bool]:
    """Return the leaf of the same shape directly above, and whether the name was taken from
    it."""
    start, states = gradients.node_of(asked), gradients.states(asked)
    if start is None or not states:
        return None, False
    if (leaf := scaled_leaf(gradients, asked, states[-1])) is not None:
        return leaf, False
    earlier = earlier_leaf(gradients, states[-1], gradients.facts.reachable([start[0]]))
    earlier = earlier or leaf_of_its_statement(gradients, asked, states[-1])
    return earlier, earlier is not None


def leaf_of_its_statement(gradients: Gradients, asked: Asked, result: Tensor) -> Tensor | None:
    """Return the leaf of the same shape for which a name stood that the statement of a result reads
    and gives to the result: ``param = param - lr * param.grad``, of the parameters of a loop."""
    maker = gradients.maker(asked)
    if maker is None or names_read(maker).isdisjoint(names_kept(maker) & {asked.name}):
        return None
    leaves = gradients.flow.leaves_directly_behind(asked.tensor_id)
    return leaves[0] if len(leaves) == 1 and leaves[0].shape == result.shape else None


def scaled_leaf(gradients: Gradients, asked: Asked, result: Tensor) -> Tensor | None:
    """Return the leaf that was made and used up by the one call that made the result."""
    leaves, maker = gradients.flow.leaves_directly_behind(asked.tensor_id), gradients.maker(asked)
    if len(leaves) != 1 or maker is None or maker.function not in SCALING:
        return None
    leaf = leaves[0]
    if leaf.shape != result.shape or leaf.code_name not in ("", result.code_name):
        return None
    was_made = any(t.id in gradients.facts.maker for t in gradients.facts.states[leaf.object_id])
    readers = gradients.facts.readers.get(leaf.object_id, ())
    computing = [c for c in readers if c.function != "requires_grad_"]
    return leaf if computing == [maker] and (leaf.name or was_made) else None


def earlier_leaf(gradients: Gradients, result: Tensor, met: Set[int]) -> Tensor | None:
    """Return the last leaf above that had the result's name."""
    name = result.code_name
    above = [
        t
        for t in gradients.graph.tensors
        if gradients.facts.accumulate_node.get(t.object_id) in met
    ]
    leaves = [t for t in above if t.is_leaf and t.requires_grad]
    others = [t for t in leaves if t.object_id != result.object_id]
    namesakes = [t for t in others if t.name and t.code_name == name]
    return namesakes[-1] if namesakes else None
