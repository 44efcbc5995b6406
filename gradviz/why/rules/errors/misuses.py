"""Calls of torch's own that were given something else than they take, or came at the wrong time:
torch's text names the fault, and the failing line shows what to write instead.

One row per text: what it means, and in which words it is told. What the sentences name besides the
code of the line is read off its syntax tree.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch

from gradviz.graph.findings import Cause
from gradviz.graph.records import NodeKind, Source
from gradviz.names.bindings import binder_before
from gradviz.names.position import callee_of, statement_of
from gradviz.names.statements import source_of
from gradviz.why.question.failed_line import FailedLine
from gradviz.why.rules.errors import (
    half_parameters,
    hooks_not_run,
    in_transforms,
    indices_kept,
    misspelt,
    nothing_to_unscale,
    refused_loads,
    refused_settings,
    refused_shapes,
    refused_steps,
    refused_targets,
    refused_values,
    shared_elements,
)
from gradviz.why.rules.errors.failure import Failure, call_at
from gradviz.why.shown.explanation import Explanation

# what the sentences name of one misuse; None where the line shows that it is another
Fields = Mapping[str, Any] | None


class Misuse(NamedTuple):
    """One text of torch's.

    Attributes:
        text: matches it; its groups are fields of the sentences.
        cause, form: in which words it is told.
        fields: reads further fields off the failing line.
    """

    text: str
    cause: Cause
    form: str
    fields: Callable[[FailedLine, Failure], Fields] = lambda line, failure: {}


def misused(failure: Failure) -> Explanation | None:
    """Tell what a call of torch's refused to take, and what to write there."""
    line = failure.failed
    for misuse in MISUSES if line is not None else ():
        found = re.search(misuse.text, failure.text)
        fields = misuse.fields(line, failure) if found and line is not None else None
        if found is None or fields is None or line is None:
            continue
        told = {**found.groupdict(""), **fields}
        at = told.pop("at", None)
        first = at if isinstance(at, list) else [at]
        wheres = (*first, line.place, told.pop("under", None))
        places = [place for place in wheres if place is not None]
        give = failure.answer
        return give(
            misuse.cause,
            misuse.form,
            calls=map(call_at, dict.fromkeys(places)),
            more=(),
            code=(line.place.code if line.place else "") or "",
            **told,
        )
    return None


# --- what the failing line shows ------------------------------------------------------------------


def _first_argument(line: FailedLine, failure: Failure) -> Fields:
    """Return what an optimizer was handed."""
    call = next(iter(line.nodes(ast.Call)), None)
    return {"given": ast.unparse(call.args[0])} if call is not None and call.args else None


def _module_handed(line: FailedLine, failure: Failure) -> Fields:
    """Return the module, or the method of it, that an optimizer was handed for its parameters;
    None where something else wanted to go through it."""
    for call in line.nodes(ast.Call) if line.raised_by(torch.optim.Optimizer, "__init__") else ():
        given = call.args[0] if call.args else None
        if isinstance(given, ast.Attribute) and given.attr in ("parameters", "named_parameters"):
            return {"given": ast.unparse(given), "wanted": f"{ast.unparse(given)}()"}
        if given is not None and issubclass(type(line.value(given)), torch.nn.Module):
            return {"given": ast.unparse(given), "wanted": f"{ast.unparse(given)}.parameters()"}
    return None


def _lists_handed(line: FailedLine, failure: Failure) -> Fields:
    """Return the list that an optimizer was handed, with each of its parts opened, tensors
    apart."""
    for call in line.nodes(ast.Call):
        given = call.args[0] if call.args else None
        if isinstance(given, (ast.List, ast.Tuple)):
            tensors = [issubclass(type(line.value(part)), torch.Tensor) for part in given.elts]
            pairs = zip(map(ast.unparse, given.elts), tensors, strict=True)
            parts = ", ".join(part if is_tensor else f"*{part}" for part, is_tensor in pairs)
            return {"given": ast.unparse(given), "wanted": f"[{parts}]"}
    return _first_argument(line, failure) and {"given": "", "wanted": "[*a, *b]"}


def _loss_made(line: FailedLine, failure: Failure) -> Fields:
    """Return the class of losses that was called in the place of a loss."""
    for call in line.nodes(ast.Call):
        made = line.value(call.func) if isinstance(call.func, ast.Name) else None
        name = callee_of(call.func) or ""
        is_class = isinstance(made, type) and issubclass(made, torch.nn.Module)
        if len(call.args) > 1 and (is_class or (name in vars(torch.nn) and name[0].isupper())):
            arguments = ", ".join(map(ast.unparse, call.args))
            return {"made": name, "wanted": f"{ast.unparse(call.func)}()({arguments})"}
    return None


def _start_given(line: FailedLine, failure: Failure) -> Fields:
    """Return what the method backward was called on, and the number that it was given."""
    for call in line.nodes(ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr == "backward" and call.args:
            given = call.args[0]
            value = given.value if isinstance(given, ast.Constant) else line.value(given)
            if type(value) in (int, float):
                return {"loss": ast.unparse(call.func.value), "given": ast.unparse(given)}
    return None


def _stepped(line: FailedLine, failure: Failure) -> Fields:
    """Return nothing more, where the line steps an optimizer; None where it does not."""
    owners = (n.value for n in line.nodes(ast.Attribute) if n.attr == "step")
    is_step = any(issubclass(type(line.value(o)), torch.optim.Optimizer) for o in owners)
    return {} if is_step else None


def _begun(line: FailedLine, failure: Failure) -> Fields:
    """Return nothing more, where a module asked for its places; None where something else did."""
    is_module = line.raised_by(
        torch.nn.Module, "__getattr__", "__setattr__", "register_parameter", "register_buffer"
    )
    return {} if is_module else None


def _without_out(line: FailedLine, failure: Failure) -> Fields:
    """Return a call without its out=, as an assignment."""
    for call in line.nodes(ast.Call):
        out = next((k.value for k in call.keywords if k.arg == "out"), None)
        if out is not None:
            kept = [ast.unparse(a) for a in call.args]
            kept += [f"{k.arg}={ast.unparse(k.value)}" for k in call.keywords if k.arg != "out"]
            code = f"{ast.unparse(call.func)}({', '.join(kept)})"
            return {"wanted": f"{ast.unparse(out)} = {code}"}
    return {"wanted": "out = f(…)"}


def _loss_unscaled(line: FailedLine, failure: Failure) -> Fields:
    """Return the scaler, and the backward that it was not asked for."""
    step = next(iter(line.nodes(ast.Call)), None)
    owner = getattr(getattr(step, "func", None), "value", None)
    scaler = ast.unparse(owner) if owner is not None else "scaler"
    calls = [] if failure.statements is None else failure.statements.calls("backward")
    if len(calls) != 1 or not isinstance(calls[0][1].func, ast.Attribute):
        return {"scaler": scaler, "loss": "loss"}
    return {
        "scaler": scaler,
        "loss": ast.unparse(calls[0][1].func.value),
        "at": calls[0][0],
    }


def _unstepped(line: FailedLine, failure: Failure) -> Fields:
    """Return the scaler that updates, and the one step of an optimizer that it has no part in; None
    where the scaler steps, or that is not known."""
    update = next(iter(line.nodes(ast.Call)), None)
    scaler = getattr(getattr(update, "func", None), "value", None)
    steps = [] if failure.statements is None else failure.statements.calls("step")
    if scaler is None or not steps or any(call.args for _, call in steps):
        return None
    place, step = steps[0]
    optimizer = step.func.value  # type: ignore[attr-defined]
    if len(steps) > 1:
        return None
    return {
        "scaler": ast.unparse(scaler),
        "step": ast.unparse(step),
        "optimizer": ast.unparse(optimizer),
        "at": place,
    }


def _checked_in_float32(line: FailedLine, failure: Failure) -> Fields:
    """Return nothing more, where a check in float32 met no custom Function; None where the check
    may be of a formula of the program's own, or is in double."""
    place, tensors = line.place, failure.graph.tensor
    if place is None or any(node.kind is NodeKind.CUSTOM_FUNCTION for node in failure.graph.nodes):
        return None
    there = [c for c in failure.graph.calls if c.source and c.source.line == place.line]
    checked = [c for c in there if c.function not in ("float", "double", "to", "type")]
    given = {tensors[i].dtype for call in checked for i in call.inputs if tensors[i].requires_grad}
    is_own = any(call.function.endswith(".apply") for call in failure.graph.calls)
    return None if is_own or given != {"float32"} else {}


def _wrapped_in_parallel(line: FailedLine, failure: Failure) -> Fields:
    """Return the module that was wrapped, with the call that did."""
    for call in line.nodes(ast.Call):
        if callee_of(call.func) == "DistributedDataParallel" and call.args:
            return {"module": ast.unparse(call.args[0]), "call": ast.unparse(call)}
    return None


def _saved_as_one(line: FailedLine, failure: Failure) -> Fields:
    """Return the variable of a backward that has all saved tensors, where one of them was meant."""
    for word in line.nodes(ast.Name):
        binder, value = binder_before(word), line.value(word)
        given = getattr(binder, "value", None)
        if not isinstance(given, ast.Attribute) or given.attr != "saved_tensors":
            continue
        if isinstance(value, tuple) and isinstance(binder, ast.Assign):
            names = ", ".join([word.id, *"…" * (len(value) - 1)])
            anew = f"{names}{',' if len(value) == 1 else ''} = {ast.unparse(given)}"
            return {"name": word.id, "n": len(value), "anew": anew, "at": line.source(binder)}
    return None


def _saved(line: FailedLine, failure: Failure) -> Fields:
    """Return what was to be saved for backward and is no tensor."""
    index = int(next(iter(re.findall(r"argument (\d+) is", failure.text)), 0))
    calls = [] if failure.statements is None else failure.statements.calls("save_for_backward")
    applied = [ast.unparse(c.func.value) for c in line.nodes(ast.Call) if _is_applied(c)]
    for source, call in calls:
        if index < len(call.args) and _class_around(call) in applied[:1]:
            name = ast.unparse(call.args[index])
            return {"value": name, "name": name if name.isidentifier() else "kept", "at": source}
    return {"value": "something", "name": "kept"}


def _custom_class(line: FailedLine, failure: Failure) -> Fields:
    """Return the custom Function, and where its class begins."""
    node = failure.graph.node.get(failure.event.node_id if failure.event else None)
    names = [node.name.removesuffix("Backward")] if node is not None else []
    names += [callee_of(c.func) or "" for c in line.nodes(ast.Call)]
    names += [c.func.value.id for c in line.nodes(ast.Call) if _is_applied(c)]
    classes = [] if failure.statements is None else [*failure.statements.nodes(ast.ClassDef)]
    for name in names:
        for file, kind in classes:
            if kind.name == name:
                return {"function": name, "at": _head_of(file, kind)}
    return {"function": next(iter(names), "") or "the Function"}


def _instance_called(line: FailedLine, failure: Failure) -> Fields:
    """Return the custom Function of which an instance was called, and the call as it should be."""
    for call in line.nodes(ast.Call):
        if isinstance(call.func, ast.Call):
            arguments = ", ".join(map(ast.unparse, call.args))
            wanted = f"{ast.unparse(call.func.func)}.apply({arguments})"
            return {**(_custom_class(line, failure) or {}), "wanted": wanted}
    told = _custom_class(line, failure) or {}
    return {**told, "wanted": f"{told['function']}.apply(…)"}


def _kept_by_instance(line: FailedLine, failure: Failure) -> Fields:
    """Return what the constructor of a custom Function set on an instance, with the call of apply
    that should hand it over; None where no constructor sets it."""
    told = _attribute_of_context(line, failure)
    if told is None or failure.statements is None:
        return None
    for _, kind in failure.statements.nodes(ast.ClassDef):
        made = [n for n in kind.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"]
        given = _given_to(made[0], told["attribute"]) if made else ""
        if kind.name == told["function"] and given:
            return {**told, "given": given, **_applied_instance(failure, kind.name)}
    return None


def _given_to(constructor: Any, attribute: str) -> str:
    """Return the code of what a constructor gives an attribute of its own; "" where it does not."""
    for node in ast.walk(constructor):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Attribute) and target.attr == attribute:
                    return ast.unparse(node.value)
    return ""


def _applied_instance(failure: Failure, function: str) -> dict[str, Any]:
    """Return the call of apply on an instance of a custom Function, with what the instance was
    given among its arguments."""
    calls = [] if failure.statements is None else failure.statements.calls("apply")
    for _, call in calls:
        owner = getattr(call.func, "value", None)
        if isinstance(owner, ast.Call) and callee_of(owner.func) == function:
            arguments = ", ".join(map(ast.unparse, [*call.args, *owner.args]))
            wanted = f"{ast.unparse(owner.func)}.apply({arguments})"
            return {"wanted": wanted, "applied": ast.unparse(call)}
    return {"wanted": f"{function}.apply(…)", "applied": f"{function}(…).apply(…)"}


def _attribute_of_context(line: FailedLine, failure: Failure) -> Fields:
    """Return the custom Function, and the attribute that its context does not have; None where no
    class of the program is called so, or where another method than its backward asks for it."""
    found = _WITHOUT_ATTRIBUTE.search(failure.text)
    if not any(frame.code.co_name in ("backward", "vjp") for frame in line.frames):
        return None
    classes = [] if failure.statements is None else [*failure.statements.nodes(ast.ClassDef)]
    if found is None or not any(kind.name == found["function"] for _, kind in classes):
        return None
    readers = (
        source_of(file, statement_of(node))
        for file, kind in classes
        if kind.name == found["function"]
        for node in ast.walk(kind)
        if isinstance(node, ast.Attribute)
        and node.attr == found["attribute"]
        and isinstance(node.ctx, ast.Load)
    )
    reader = next(readers, None)
    return {**found.groupdict(), **({} if reader is None else {"at": reader})}


def _class_around(node: Any) -> str:
    """Return the name of the class in which a node stands; "" where it stands in none."""
    while node is not None and not isinstance(node, ast.ClassDef):
        node = getattr(node, "parent", None)
    return "" if node is None else str(node.name)


def _is_applied(call: ast.Call) -> bool:
    """Say whether a call is ``Function.apply(…)``."""
    function = call.func
    if not isinstance(function, ast.Attribute) or function.attr != "apply":
        return False
    return isinstance(function.value, ast.Name)


def _head_of(file: Any, kind: Any) -> Source:
    """Return the first line of a class, without its body."""
    return source_of(file, kind)._replace(code=file.lines[kind.lineno - 1].strip())


def _once_differentiable(line: FailedLine, failure: Failure) -> Fields:
    """Return the one decorator that lets a backward be differentiated no further; of several it is
    not known which."""
    functions = [] if failure.statements is None else failure.statements.nodes(ast.FunctionDef)
    marks = [
        (file, decorator)
        for file, node in functions
        for decorator in node.decorator_list
        if callee_of(decorator) == "once_differentiable"
    ]
    if len(marks) != 1:
        return {}
    file, mark = marks[0]
    return {"at": source_of(file, mark)._replace(code=file.lines[mark.lineno - 1].strip())}


def _checkpoint(line: FailedLine, failure: Failure) -> Fields:
    """Return the one call of checkpoint in the program; of several it is not known which."""
    nodes = [] if failure.statements is None else failure.statements.nodes(ast.Call)
    calls = [(file, node) for file, node in nodes if callee_of(node.func) == "checkpoint"]
    return {"at": source_of(*calls[0])} if len(calls) == 1 else {}


def _checkpoint_in_parallel(line: FailedLine, failure: Failure) -> Fields:
    """Return the calls of a reentrant checkpoint, where a model in parallel looks for unused
    parameters; None where none does, or no checkpoint is reentrant."""
    nodes = [] if failure.statements is None else failure.statements.nodes(ast.Call)
    calls = [(file, node) for file, node in nodes if callee_of(node.func) == "checkpoint"]
    reentrant = [(file, node) for file, node in calls if _is_reentrant(node)]
    held = [value for frame in line.frames for value in frame.names.values()]
    parts = [part for value in held for part in (getattr(value, "__dict__", None) or {}).values()]
    parallel = torch.nn.parallel.DistributedDataParallel
    looking = any(type(m) is parallel and m.find_unused_parameters for m in (*held, *parts))
    return {"at": source_of(*reentrant[0])} if reentrant and looking else None


def _is_reentrant(call: ast.Call) -> bool:
    """Say whether a call of checkpoint is not told otherwise."""
    told = [k.value for k in call.keywords if k.arg == "use_reentrant"]
    return not told or (isinstance(told[0], ast.Constant) and told[0].value is True)


def _without_derivative(line: FailedLine, failure: Failure) -> Fields:
    """Return the call whose derivative torch does not know."""
    found = re.search(r"derivative for '(?:aten::)?(\w+)' is not implemented", failure.text)
    name = found[1].strip("_") if found else ""
    calls = [c for c in failure.graph.calls if name and c.function.strip("_").endswith(name)]
    source = calls[-1].source if calls else None
    return {} if source is None else {"at": source}


def _gradient_of(line: FailedLine, failure: Failure) -> Fields:
    """Return the tensor whose .grad was to be set."""
    for node in line.nodes(ast.Attribute):
        if node.attr == "grad":
            return {"name": ast.unparse(node.value)}
    return {"name": "w"}


def _without_history(line: FailedLine, failure: Failure) -> Fields:
    """Return the tensor whose grad_fn is None, and what it is instead of a result."""
    for node in line.nodes(ast.Attribute):
        tensor: Any = line.value(node.value) if node.attr == "grad_fn" else None
        if issubclass(type(tensor), torch.Tensor) and tensor.grad_fn is None:
            return {"tensor": ast.unparse(node.value)} if tensor.requires_grad else None
    return None


def _hook_set(line: FailedLine, failure: Failure) -> Fields:
    """Return the one statement that sets a hook on a tensor; of a module's hook what it returns."""
    calls = [] if failure.statements is None else failure.statements.calls("register_hook")
    if len(calls) == 1:
        return {"at": calls[0][0]}
    of_module = None if calls else _gradients_of_inputs(line, failure)
    return {"at": of_module["at"]} if of_module and "at" in of_module else {}


def _gradients_of_inputs(line: FailedLine, failure: Failure) -> Fields:
    """Return what a module's hook calls the gradients of the inputs, and what it returns."""
    code = failure.statements
    names = ("register_backward_hook", "register_full_backward_hook")
    setting = [c for name in names for _, c in (code.calls(name) if code else ()) if c.args]
    put = {callee_of(call.args[0]) for call in setting}
    every = code.nodes(ast.FunctionDef) if code else ()
    hooks = [(f, n) for f, n in every if n.name in put and len(n.args.args) > 2]
    if len(hooks) != 1:
        return {"given": "grad_input", "hook": ""}
    ((file, node),) = hooks
    returns = [n for n in ast.walk(node) if isinstance(n, ast.Return)]
    at = source_of(file, (returns or [node])[-1])
    return {"given": node.args.args[-2].arg, "hook": f"{node.name}()", "at": at}


def _function_applied(line: FailedLine, failure: Failure) -> Fields:
    """Return the custom Function that was to write into a leaf, and a call of it that does not."""
    for call in line.nodes(ast.Call):
        if _is_applied(call):
            first = f"{ast.unparse(call.args[0])}.clone()" if call.args else "x.clone()"
            rest = [first, *map(ast.unparse, call.args[1:])]
            return {
                "function": ast.unparse(call.func.value),
                "wanted": f"{ast.unparse(call.func)}({', '.join(rest)})",
            }
    return None


_WITHOUT_ATTRIBUTE = re.compile(
    r"'(?P<function>\w+)Backward' object has no attribute '(?P<attribute>\w+)'"
)
MISUSED = Cause.MISUSED
MISUSES: tuple[Misuse, ...] = (
    # optimizers
    Misuse(
        r"params argument given to the optimizer should be an iterable of Tensors or dicts",
        Cause.NOT_A_PARAMETER,
        "one_tensor",
        _first_argument,
    ),
    Misuse(r"'\w+' object is not iterable", Cause.NOT_A_PARAMETER, "module_handed", _module_handed),
    Misuse(
        r"optimizer can only optimize Tensors, but one of the params is"
        r" (?P<kind>Module\.parameters|filter|map|list)",
        Cause.NOT_A_PARAMETER,
        "no_tensors",
        _lists_handed,
    ),
    Misuse(
        r"DistributedDataParallel is not needed when a module doesn't have any parameter",
        MISUSED,
        "parallel_of_frozen",
        _wrapped_in_parallel,
    ),
    Misuse(r"not tuple|'tuple'|sequence", MISUSED, "saved_as_one", _saved_as_one),
    Misuse(r"some parameters appear in more than one parameter group", MISUSED, "held_twice"),
    Misuse(
        r"step\(\) missing 1 required positional argument: 'closure'", MISUSED, "closure", _stepped
    ),
    Misuse(r"Attempted (?:step|unscale_) but _scale is None", MISUSED, "unscaled", _loss_unscaled),
    Misuse(r"No inf checks were recorded prior to update", MISUSED, "scaler_unstepped", _unstepped),
    Misuse(
        r"No inf checks were recorded for this optimizer",
        MISUSED,
        "nothing_to_unscale_frozen",
        nothing_to_unscale.frozen,
    ),
    Misuse(
        r"No inf checks were recorded for this optimizer",
        MISUSED,
        "nothing_to_unscale_cleared",
        nothing_to_unscale.cleared,
    ),
    Misuse(
        r"No inf checks were recorded for this optimizer",
        MISUSED,
        "nothing_to_unscale_read",
        nothing_to_unscale.read_without,
    ),
    Misuse(
        r"No inf checks were recorded for this optimizer",
        MISUSED,
        "nothing_to_unscale",
        nothing_to_unscale.unreached,
    ),
    Misuse(
        r"unscale_\(\) has already been called on this optimizer since the last update",
        MISUSED,
        "unscaled_twice",
    ),
    Misuse(
        r"Attempting to unscale FP16 gradients",
        MISUSED,
        "gradients_of_half",
        half_parameters.gradients_of_half,
    ),
    Misuse(
        r"Attempting to unscale FP16 gradients",
        MISUSED,
        "gradients_of_half_unseen",
        half_parameters.gradients_of_half_unseen,
    ),
    Misuse(
        r"loaded state dict (?:contains a parameter group|has a different number)",
        MISUSED,
        "state_of_other_groups",
        refused_steps.state_of_other_groups,
    ),
    Misuse(
        r"loaded state dict (?:contains a parameter group|has a different number)",
        MISUSED,
        "state_of_others",
    ),
    Misuse(
        r"size of tensor a \(\d+\) must match the size of tensor b",
        MISUSED,
        "state_of_other_shapes",
        refused_steps.state_of_other_shapes,
    ),
    Misuse(
        r"float\(\) argument must be .{1,40} not 'NoneType'",
        MISUSED,
        "closure_without_loss",
        refused_steps.closure_without_loss,
    ),
    Misuse(
        r"Tried to step \d+ times\. The specified number of total steps is (?P<total>\d+)",
        MISUSED,
        "schedule_over",
        refused_steps.schedule_that_is_over,
    ),
    Misuse(
        r"ReduceLROnPlateau\.step\(\) missing 1 required positional argument: 'metrics'",
        MISUSED,
        "nothing_watched",
        refused_steps.stepped,
    ),
    Misuse(
        r"param 'initial_lr' is not specified",
        MISUSED,
        "begun_in_the_middle",
        refused_settings.begun_in_the_middle,
    ),
    Misuse(
        r"__init__\(\) got an unexpected keyword argument",
        MISUSED,
        "settings_of_another",
        refused_settings.of_another_class,
    ),
    Misuse(
        r"__init__\(\) got an unexpected keyword argument",
        MISUSED,
        "without_setting",
        refused_settings.without_setting,
    ),
    # modules
    Misuse(r"Error\(s\) in loading state_dict", MISUSED, "prefixed", refused_loads.prefixed),
    Misuse(
        r"Error\(s\) in loading state_dict", MISUSED, "without_prefix", refused_loads.without_prefix
    ),
    Misuse(
        r"Error\(s\) in loading state_dict",
        MISUSED,
        "wrapped_elsewhere",
        refused_loads.wrapped_elsewhere,
    ),
    Misuse(
        r"Weights only load failed", MISUSED, "not_only_tensors", refused_loads.not_only_tensors
    ),
    Misuse(
        r"cannot assign \w+ before Module\.__init__\(\) call"
        r"|object has no attribute '_(?:parameters|modules|buffers)'",
        MISUSED,
        "no_super",
        _begun,
    ),
    Misuse(
        r"Boolean value of Tensor with more than one value is ambiguous",
        MISUSED,
        "loss_made",
        _loss_made,
    ),
    # custom Functions
    Misuse(
        r"Legacy autograd function with non-static forward",
        Cause.CUSTOM_BACKWARD,
        "instance",
        _instance_called,
    ),
    Misuse(
        _WITHOUT_ATTRIBUTE.pattern, Cause.CUSTOM_BACKWARD, "kept_by_instance", _kept_by_instance
    ),
    Misuse(_WITHOUT_ATTRIBUTE.pattern, Cause.CUSTOM_BACKWARD, "not_kept", _attribute_of_context),
    Misuse(
        r"must implement either the backward or vjp method",
        Cause.CUSTOM_BACKWARD,
        "missing",
        _custom_class,
    ),
    Misuse(
        r"save_for_backward can only save variables, but argument \d+ is of type (?P<kind>\w+)",
        Cause.CUSTOM_BACKWARD,
        "saved",
        _saved,
    ),
    Misuse(
        r"differentiate twice a function that was marked with @once_differentiable",
        Cause.CUSTOM_BACKWARD,
        "once",
        _once_differentiable,
    ),
    Misuse(
        r"Jacobian mismatch for output \d+ with respect to input \d+",
        MISUSED,
        "checked_in_float32",
        _checked_in_float32,
    ),
    Misuse(
        r"Jacobian mismatch for output \d+ with respect to input \d+",
        Cause.CUSTOM_BACKWARD,
        "gradcheck",
        _custom_class,
    ),
    # checkpoint
    Misuse(
        r"A different number of tensors was saved|Recomputed values .{0,60}different metadata"
        r"|trying to save more tensors during recomputation",
        Cause.CHECKPOINT_DIFFERS,
        "recomputed",
        _checkpoint,
    ),
    Misuse(
        r"use_reentrant=True, torch\.utils\.checkpoint is incompatible with"
        r"|Checkpointing is not compatible with \.grad\(\)",
        Cause.CHECKPOINT_DIFFERS,
        "reentrant",
        _checkpoint,
    ),
    Misuse(
        r"Expected to mark a variable ready only once",
        Cause.CHECKPOINT_DIFFERS,
        "reentrant_in_parallel",
        _checkpoint_in_parallel,
    ),
    # torch.func
    Misuse(r"backward\(\) called inside a functorch transform", Cause.IN_TRANSFORM, "backward"),
    Misuse(
        r"inside of a function being transformed by a functorch transform",
        Cause.IN_TRANSFORM,
        "requires_grad",
    ),
    Misuse(
        r"Expected f\(\*args\) to return a scalar [tT]ensor"
        r"|function given to \w+ should contain a single element",
        Cause.NOT_SCALAR,
        "transformed",
    ),
    Misuse(
        r"vmap: It looks like you're", Cause.IN_TRANSFORM, "decided", in_transforms.decided_by_value
    ),
    Misuse(r"vmap: It looks like you're", Cause.IN_TRANSFORM, "read"),
    Misuse(
        r"don't yet support saved tensor hooks",
        Cause.IN_TRANSFORM,
        "checkpointed",
        in_transforms.through_checkpoint,
    ),
    Misuse(
        r"vmap: called random operation while in randomness error mode",
        Cause.IN_TRANSFORM,
        "random",
        in_transforms.with_randomness,
    ),
    Misuse(
        r"Batch norm got a batched tensor as input while the running_mean or running_var",
        Cause.IN_TRANSFORM,
        "running_statistics",
    ),
    Misuse(
        r"attempted to call in-place operation .{1,60} that would mutate a captured Tensor",
        Cause.IN_TRANSFORM,
        "running_statistics",
        in_transforms.of_a_batch_norm,
    ),
    Misuse(
        r"too many indices for tensor|Dimension out of range|input \(got \dD input\)",
        Cause.IN_TRANSFORM,
        "one_sample",
        in_transforms.of_one_sample,
    ),
    Misuse(
        r"Expected f\(\*args\) to return a [tT]ensor, got <class 'tuple'>",
        Cause.IN_TRANSFORM,
        "more_returned",
        in_transforms.with_rest,
    ),
    Misuse(r"has no attribute '", MISUSED, "misspelt", misspelt.misspelt),
    # backward, .grad and .grad_fn
    Misuse(
        r"'NoneType' object has no attribute",
        MISUSED,
        "grad_fn_of_a_leaf",
        _without_history,
    ),
    Misuse(
        r"a leaf Variable that requires grad has been used in an in-place operation",
        Cause.LEAF_IN_PLACE,
        "by_function",
        _function_applied,
    ),
    Misuse(
        r"hook .{1,200}? has changed the (?:size|type) of value",
        Cause.HOOK_REFUSED,
        "changed",
        _hook_set,
    ),
    Misuse(
        r"(?:hook '\w+' has returned an incorrect number of values"
        r"|hook returned an invalid number of grad_input)[, (]+"
        r"got (?P<got>\d+), but expected (?P<expected>\d+)",
        Cause.HOOK_REFUSED,
        "count",
        _gradients_of_inputs,
    ),
    Misuse(
        r"'(?:float|int)' object is not iterable|gradients can be either Tensors or None",
        Cause.GRADIENT_SHAPE,
        "plain_number",
        _start_given,
    ),
    Misuse(
        r"attempting to assign a gradient of size '\[(?P<given>[\d, ]*)\]' to a tensor of size"
        r" '\[(?P<shape>[\d, ]*)\]'|assigned grad has data of a different (?:size|type)",
        Cause.GRADIENT_SHAPE,
        "assigned",
        _gradient_of,
    ),
    Misuse(
        r"derivative for '(?:aten::)?(?P<function>\w+)' is not implemented",
        Cause.NO_DERIVATIVE,
        "not_written",
        _without_derivative,
    ),
    Misuse(
        r"(?P<function>\w+)\(\): functions with out=\.\.\. arguments don't support automatic",
        MISUSED,
        "out",
        _without_out,
    ),
    # layers, losses, distributions
    Misuse(
        r"shape '\[.{1,60}\]' is invalid for input of size",
        MISUSED,
        "rows_of_other_size",
        refused_shapes.rows_of_other_size,
    ),
    Misuse(
        r"shape '\[.{1,60}\]' is invalid for input of size",
        MISUSED,
        "rows_of_other_count",
        refused_shapes.rows_of_other_count,
    ),
    Misuse(
        r"mat1 and mat2 shapes cannot be multiplied",
        MISUSED,
        "input_not_flat",
        refused_values.input_not_flat,
    ),
    Misuse(
        r"mat1 and mat2 shapes cannot be multiplied",
        MISUSED,
        "layer_of_other_size",
        refused_values.layer_of_other_size,
    ),
    Misuse(r"Expected hidden\S* size", MISUSED, "batch_not_first", refused_values.batch_not_first),
    Misuse(
        r"Expected hidden\S* size",
        MISUSED,
        "state_of_other_batch",
        refused_values.state_of_other_batch,
    ),
    Misuse(
        r"Target \d+ is out of bounds", MISUSED, "classes_from_one", refused_values.classes_from_one
    ),
    Misuse(
        r"Target \d+ is out of bounds", MISUSED, "too_many_classes", refused_values.too_many_classes
    ),
    Misuse(
        r"Target -\d+ is out of bounds",
        MISUSED,
        "classes_below_zero",
        refused_values.classes_below_zero,
    ),
    Misuse(
        r"[uU]sing a target size|Target size \(.{1,60}\) must be the same as input size",
        MISUSED,
        "one_column_more",
        refused_targets.one_column_more,
    ),
    Misuse(
        r"multi-target not supported|only batches of spatial targets supported",
        MISUSED,
        "classes_in_a_column",
        refused_targets.classes_in_a_column,
    ),
    Misuse(
        r"Expected floating point type for target with class probabilities, got (?P<dtype>\w+)",
        MISUSED,
        "whole_probabilities",
        refused_targets.whole_probabilities,
    ),
    Misuse(
        r"Expected floating point type for target with class probabilities",
        MISUSED,
        "one_class_as_a_row",
        refused_targets.one_class_as_a_row,
    ),
    Misuse(
        r"only one element tensors can be converted to Python scalars",
        MISUSED,
        "tensor_of_rows",
        refused_targets.tensor_of_rows,
    ),
    Misuse(
        r"all elements of input should be between 0 and 1",
        MISUSED,
        "tanh_for_probabilities",
        refused_values.tanh_for_probabilities,
    ),
    Misuse(
        r"all elements of input should be between 0 and 1",
        MISUSED,
        "scores_for_probabilities",
        refused_values.scores_for_probabilities,
    ),
    Misuse(
        r"all elements of target should be between 0 and 1",
        MISUSED,
        "pixels_for_probabilities",
        refused_targets.pixels_for_probabilities,
    ),
    Misuse(
        r"all elements of target should be between 0 and 1",
        MISUSED,
        "targets_beyond",
        refused_targets.targets_beyond,
    ),
    Misuse(
        r"(?s)Expected parameter \w+ .*to satisfy the constraint",
        MISUSED,
        "scale_not_positive",
        refused_values.scale_not_positive,
    ),
    Misuse(
        r"(?s)Expected parameter \w+ .*to satisfy the constraint",
        MISUSED,
        "scores_for_a_distribution",
        refused_values.scores_for_a_distribution,
    ),
    Misuse(
        r"Value is not broadcastable with batch_shape",
        MISUSED,
        "not_of_the_distribution",
        refused_values.not_of_the_distribution,
    ),
    Misuse(
        r"index out of range|out of bounds for dimension|is out of bounds",
        MISUSED,
        "index_kept",
        indices_kept.index_kept,
    ),
    Misuse(
        r"more than one element of the written-to tensor refers to a single memory location",
        MISUSED,
        "elements_shared",
        shared_elements.elements_shared,
    ),
    Misuse(r"^'.*'$", MISUSED, "hook_not_run", hooks_not_run.hook_not_run),
    Misuse(
        r"post accumulate grad hooks cannot be registered on non-leaf",
        Cause.HOOK_REFUSED,
        "non_leaf",
    ),
)
