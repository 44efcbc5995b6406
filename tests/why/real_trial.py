"""What ``%gradviz why`` answers to the real questions: ``python tests/why/real_trial.py real``.

Each program is run in a notebook's shell of its own, in a process of its own: pasted whole into one
``%%gradviz`` cell ("pasted"), or cell by cell with only the last one marked ("last"), or as a script
under ``gv.record()`` and ``gv.explain()`` ("script"). Then ``why`` is asked bare and with the names
that the asker named. Prints every answer as it fell; a reader judges them. ``trials.py`` says which
folders there are; ``all`` is all of those. ``healthy`` are programs in which nothing is wrong, each of
which asserts so at its end: an answer that names a fault there is a false alarm.
"""

from __future__ import annotations

import argparse
import importlib
import json
import multiprocessing
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from trials import ASKED, HERE, Question, cells, no_longer_right, questions

WAYS = ("pasted", "last", "script")
# What nearly every question takes, loaded once, before the processes part: every optimizer takes
# torch._dynamo, which takes longer than all the rest.
LOADED = (
    "IPython.core.interactiveshell",
    "IPython.utils.capture",
    "gradviz.notebook.magic",
    "gradviz.why.answering.entry",
    "torch._dynamo",
)
LIMIT = 400  # seconds for a program and its two answers, on a busy machine, too
LINE = re.compile(r"\bline\s+(\d+)\b")


class Told(NamedTuple):
    """One answer.

    Attributes:
        cause: its machine-readable word, "" where nothing answered.
        lines: the numbers of the program's lines that it names, in its order.
        text: everything that was shown.
    """

    cause: str
    lines: list[int]
    text: str


def ask(question: Question, way: str = "pasted") -> dict[str, Told]:
    """Return the bare answer and the named one, of a process of their own."""
    context = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "told.json")
        process = context.Process(target=_answer, args=(question, way, str(path)))
        process.start()
        process.join(LIMIT)
        if process.is_alive():
            process.kill()
        if not path.exists():
            nothing = Told("", [], "no answer: the process ended")
            return {"bare": nothing, "named": nothing}
        return {key: Told(*told) for key, told in json.loads(path.read_text()).items()}


def _answer(question: Question, way: str, path: str) -> None:
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115  # the program's own prints
    os.chdir(Path(path).parent)
    answers = _of_script(question) if way == "script" else _of_shell(question, way)
    Path(path).write_text(json.dumps(answers))


# --- in a notebook --------------------------------------------------------------------------------


def _of_shell(question: Question, way: str) -> dict[str, Told]:
    import torch
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    torch.manual_seed(0)
    shell = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    shell.run_cell("%load_ext gradviz")
    parts = [question.program] if way == "pasted" else cells(question.program)
    for number, part in enumerate(parts):
        mark = "%%gradviz\n" if number == len(parts) - 1 else ""
        # The mark takes the place of a line, so that numbers stay those of the file.
        _run(shell, mark + part.partition("\n")[2] if mark else part)
    named = " ".join(question.fields["subjects"])
    return {"bare": _why(shell, ""), "named": _why(shell, named)}


def _run(shell: Any, cell: str) -> Any:
    from IPython.utils.capture import capture_output

    with capture_output() as captured:
        shell.run_cell(cell)
    return captured


def _why(shell: Any, names: str) -> Told:
    asked: list[Any] = []
    from gradviz.why.shown import explanation

    seen = explanation.Explanation._repr_mimebundle_

    def noted(self: Any, *args: Any, **options: Any) -> Any:
        asked.append(self)
        return seen(self, *args, **options)

    explanation.Explanation._repr_mimebundle_ = noted  # type: ignore[method-assign]
    try:
        shown = _run(shell, f"%gradviz why {names}")
    finally:
        explanation.Explanation._repr_mimebundle_ = seen  # type: ignore[method-assign]
    outputs = (output.data.get("text/plain", "") for output in shown.outputs)
    text = "\n".join([*outputs, *filter(None, [shown.stderr.strip()])])
    return _told(asked[-1] if asked else None, text)


def _told(answer: Any, text: str) -> Told:
    return Told(str(getattr(answer, "cause", "")), [int(n) for n in LINE.findall(text)], text)


# --- in a script ----------------------------------------------------------------------------------


def _of_script(question: Question) -> dict[str, Told]:
    import linecache

    import torch

    import gradviz as gv

    torch.manual_seed(0)
    name = question.fields["file"]
    linecache.cache[name] = len(question.program), None, question.program.splitlines(True), name
    names: dict[str, Any] = {"__name__": "__main__"}
    error = None
    with gv.record() as recording:
        try:
            exec(compile(question.program, name, "exec"), names)
        except Exception as raised:
            error = raised
    known = {key: value for key, value in names.items() if not key.startswith("__")}

    def told(*subjects: Any, **more: Any) -> Told:
        try:
            answer = gv.explain(*subjects, recording=recording, names=known, **more)
        except gv.GradvizError as refused:
            return Told("", [], str(refused))
        return _told(answer, str(answer))

    subjects = [eval(text, names) for text in question.fields["subjects"]]
    bare = told(error=error) if error else told()
    named = told(*subjects, error=error) if error else told(*subjects)
    return {"bare": bare, "named": named}


def without_assertions(program: str) -> str:
    """Return a program without the lines that assert: reading a ``.grad`` is asking about it."""
    lines = program.split("\n")
    return "\n".join("" if line.startswith("assert ") else line for line in lines)


def healthy_programs() -> list[Question]:
    """Return the programs in which nothing is wrong, as questions about them."""
    return [
        Question(
            {
                "id": path.stem.partition("_")[0],
                "file": path.name,
                "kind": "healthy",
                "cause_kind": path.stem.partition("_")[2],
                "cause": path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# "),
                "asked": "",
                "subjects": [],
                "blame": [],
            },
            without_assertions(path.read_text(encoding="utf-8")),
        )
        for path in sorted((HERE / "healthy").glob("h*.py"))
    ]


# --- the whole trial ------------------------------------------------------------------------------


def report(question: Question, answers: dict[str, Told]) -> Iterator[str]:
    """Yield what is known of a question, and what was answered."""
    known = question.fields
    yield f"=== {known['id']} · {known['kind']} · {known['cause_kind']} · lines {known['blame']}"
    yield f"asked: {known['asked']}"
    yield f"true cause: {known['cause']}"
    for key, told in answers.items():
        place = "place ✓" if set(told.lines) & set(known["blame"]) else "place –"
        yield f"--- {key}: {told.cause or 'nothing'} · {place}"
        yield told.text
    yield ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="+", help="of tests/why, or all")
    parser.add_argument("--only", nargs="+", help="ids of questions")
    parser.add_argument("--way", choices=WAYS, default="pasted")
    parser.add_argument("--json", help="a file for the answers, by id of the question")
    parser.add_argument("--check", action="store_true", help="fail where a right answer is lost")
    chosen = parser.parse_args()
    import torch

    import gradviz as gv

    torch.set_num_threads(1)
    for name in LOADED:
        importlib.import_module(name)
    gv.explain(torch.ones(1, requires_grad=True), names={})
    told: dict[str, dict[str, Told]] = {}
    lost: list[str] = []
    for folder in ASKED if chosen.folders == ["all"] else chosen.folders:
        answers = dict(_answers(folder, chosen.only, chosen.way))
        told |= answers
        lost += no_longer_right(folder, answers) if folder != "healthy" else ()
    if chosen.json:
        Path(chosen.json).write_text(json.dumps(told))
    if chosen.check and lost:
        sys.exit("\n".join(lost))


def _answers(
    folder: str, only: Sequence[str] | None, way: str
) -> Iterator[tuple[str, dict[str, Told]]]:
    """Ask the questions of a folder, print each answer, and yield it with the id of its question."""
    for question in healthy_programs() if folder == "healthy" else questions(folder):
        name = question.fields["id"]
        if only and name not in only:
            continue
        told = ask(question, way)
        print("\n".join(report(question, told)), flush=True)
        yield name, told


if __name__ == "__main__":
    main()
