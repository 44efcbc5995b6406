"""Code that a magic of IPython compiled by itself: that of ``%time loss.backward()``, ``%timeit``,
``%prun`` and ``%%time``.

Each compiles its text under a name that says nothing (``<timed exec>``), in which every text
begins at line 1. While it runs, the frame of the cell stands further out, in the call of the magic,
which holds the text. So the code is moved there: it gets the lines of the cell, and a file name of
its own that begins with that of the cell. ``linecache`` is given the text under that name, as
IPython gives it the text of a cell.
"""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterator
from types import CodeType, FrameType

from gradviz.graph.sites import MAGIC

_NAMES = frozenset(("<timed exec>", "<timed eval>", "<magic-timeit>", "<string>"))
_TIMEIT = "<magic-timeit>"
_OF_TIMEIT = frozenset(("_it", "_timer", "_t0", "_t1", "_i"))  # its own variables
_CALLS = ("run_line_magic", "run_cell_magic")
_MOST_FRAMES = 30  # between the code of a magic and the cell


def placed(code: CodeType, frame: FrameType) -> CodeType:
    """Return the code of a magic with the file and lines of its cell; all other code as it is.

    Args:
        code: of the frame.
        frame: that runs it.
    """
    if code.co_filename not in _NAMES:
        return code
    outer = frame.f_back
    for _ in range(_MOST_FRAMES):
        if outer is None:
            break
        call = _call_of_magic(outer)
        if call is not None:
            return _moved(code, outer.f_code.co_filename, call)
        outer = outer.f_back
    return code


def _call_of_magic(frame: FrameType) -> ast.Call | None:
    """Return the call of a magic in which a frame stands; None where it stands in none, or where
    its line has several."""
    lines = linecache.getlines(frame.f_code.co_filename)
    line = frame.f_lineno
    if not 0 < line <= len(lines) or not any(call in lines[line - 1] for call in _CALLS):
        return None
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError, RecursionError):
        return None
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    found = [call for call in calls if call.lineno == line and _is_of_magic(call)]
    return found[0] if len(found) == 1 else None


def _is_of_magic(call: ast.Call) -> bool:
    """Say whether it is the call that IPython makes of a magic, all of whose arguments are text."""
    is_named = isinstance(call.func, ast.Attribute) and call.func.attr in _CALLS
    return is_named and bool(call.args) and all(map(_is_text, call.args))


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _moved(code: CodeType, file: str, call: ast.Call) -> CodeType:
    """Return code with the file and lines of the call of a magic that compiled it. A function that
    another call compiled stays as it is."""
    is_cell = call.func.attr == _CALLS[1]  # type: ignore[attr-defined]
    given = str(call.args[-1].value)  # type: ignore[attr-defined]
    begin = call.lineno
    if is_cell:  # its text stands below, and IPython leaves out how that begins if it is empty
        text = given.lstrip("\n")
        begin += 1 + len(given) - len(text)
        text = _text_of(code, [_commented(text)])
    else:
        text = _text_of(code, list(_without_options(given)))
    if not text and not _is_whole(code):
        return code
    name = f"{file}{MAGIC}{begin}"
    lines = ["\n"] * (begin - 1) + [f"{line}\n" for line in text.splitlines()]
    linecache.cache[name] = sum(map(len, lines)), None, lines, name
    return code.replace(co_filename=name, co_firstlineno=code.co_firstlineno + begin - 1)


def _text_of(code: CodeType, texts: list[str]) -> str:
    """Return the first of some texts that has the names of code and no others, else the first that
    has them all, as it may be compiled in parts; "" where there is none."""
    compiled = [(text, found) for text in texts if (found := _compiled(text)) is not None]
    if not _is_whole(code):
        return next((text for text, found in compiled if _has_function(found, code)), "")
    used = {*code.co_names, *code.co_varnames} - _OF_TIMEIT
    named = [(text, {*found.co_names}) for text, found in compiled if used <= {*found.co_names}]
    exact = (text for text, names in named if names == used)
    return next(exact, named[0][0] if named else "")


def _without_options(text: str) -> Iterator[str]:
    """Yield a line as it is, then without its first word, and so on: options stand before the
    code.

    >>> list(_without_options("-n 1 f(x)"))
    ['-n 1 f(x)', '1 f(x)', 'f(x)']
    """
    rest = text.strip()
    while rest:
        yield rest
        rest = rest.partition(" ")[2].lstrip()


def _commented(text: str) -> str:
    """Return the text of a cell with the magics at its top as comments: they change no line.

    >>> _commented("%%gradviz\\nb = a % 2")
    '# %%gradviz\\nb = a % 2'
    """
    return re.sub(
        r"\A(%%.*\n)+", lambda top: re.sub("^", "# ", top[0].strip(), flags=re.M) + "\n", text
    )


def _is_whole(code: CodeType) -> bool:
    """Say whether code is the whole text of a magic, and no function in it."""
    return code.co_name == "<module>" or code.co_filename == _TIMEIT


def _compiled(text: str) -> CodeType | None:
    try:
        found = compile(text, "", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError):
        return None
    return found if isinstance(found, CodeType) else None


def _has_function(whole: CodeType, code: CodeType) -> bool:
    """Say whether a function like this one stands at its line of code."""
    alike = (code.co_name, code.co_firstlineno, code.co_names)
    return any((one.co_name, one.co_firstlineno, one.co_names) == alike for one in _inside(whole))


def _inside(code: CodeType) -> Iterator[CodeType]:
    """Go through the functions that stand in code."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _inside(constant)
