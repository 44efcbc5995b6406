"""Writes ``docs/why-trial.md``: what ``why`` answered to real questions, as a reader judged it.

``python tests/why/trial_table.py``. What the page says of each set stands in ``trials.toml``, the
judgements in ``judged.toml`` beside the questions (see ``trials.py``).

right: the true cause, at its place, and what is said to fix it does. vague: it points the right way,
without cause or place. not known: it says that it does not know. wrong: it says something that is
not so, or that all is well where it is not. Of the third set on, "not judged" is not known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from trials import ASKED, HERE, HOW, Question, asked, judged, parts

PAGE = HERE.parents[1] / "docs" / "why-trial.md"
VERDICTS = ("right", "vague", "not known", "wrong")
HEAD = """# Why, asked as people ask it

Questions from public issue trackers and forums, each rebuilt as a program that runs on the CPU, with its
true cause and its fix written down before gradviz was asked; torch alone proves both
([tests/why/test_real_truth.py](../tests/why/test_real_truth.py)). The program is pasted into one cell under
`%%gradviz`; then `%gradviz why` is asked bare, and with the names that the asker named. **right** is the true
cause at its place, with a fix that works; **vague** points the right way, without cause or place; **not known**
says so; **wrong** says what is not so, or that all is well where it is not. Readers judged the answers by the
written truth. Written by `python tests/why/trial_table.py`; every answer as it fell: {raw}.

"""


def page() -> str:
    """Return the page."""
    raw = ", ".join(f"[{folder}](../tests/why/{folder}/answers.txt)" for folder in ASKED)
    return HEAD.format(raw=raw) + "\n".join(line for part in parts() for line in _part(part))


def _part(part: dict[str, Any]) -> Iterator[str]:
    chosen, told = asked(part), judged(part["folder"])
    yield f"## {part['title']}"
    yield ""
    if "note" in part:
        yield _filled(part["note"], told)
        yield ""
    yield f"{len(chosen)} questions judged."
    yield ""
    yield f"| | {' | '.join(VERDICTS)} |"
    yield "| --- |" + " ---: |" * len(VERDICTS)
    for how in HOW:
        for kind in ("silent", "raises", "healthy", "all"):
            verdicts = Counter(
                told[q.fields["id"]][how]["verdict"] for q in chosen if kind in (q.kind, "all")
            )
            if not verdicts:
                continue
            yield f"| {how}, {kind} | {' | '.join(str(verdicts[v]) for v in VERDICTS)} |"
    yield ""
    yield "| question | true cause | bare | named |"
    yield "| --- | --- | --- | --- |"
    yield from (_row(q, told[q.fields["id"]]) for q in chosen)
    yield ""


def _row(question: Question, told: dict[str, Any]) -> str:
    fields = question.fields
    cells = [_cell(told[how]) for how in HOW]
    if told["bare"].get("reason") == told["named"].get("reason") and cells[0] == cells[1]:
        cells[1] = cells[1].partition(": ")[0]
    title = fields["title"].replace("|", "\\|")
    return f"| [{title}]({fields['link']}) | {fields['cause'].replace('|', chr(92) + '|')} | {' | '.join(cells)} |"


def _cell(told: dict[str, Any]) -> str:
    reason = f": {told['reason']}" if "reason" in told else ""
    return f"{told['verdict']} ({told['cause'] or 'no answer'}){reason}"


def _filled(note: str, told: dict[str, Any]) -> str:
    """Return a note with the counts that it asks for: {alarms}, {places}."""
    for name, counted in (("{alarms}", _false_alarms), ("{places}", _places)):
        if name in note:
            note = note.replace(name, counted(told))
    return note


def _false_alarms(told: dict[str, Any]) -> str:
    alarms = {how: [name for name in told if told[name][how].get("alarm")] for how in HOW}
    causes = {
        how: ", ".join(told[name][how]["cause"] for name in alarms[how]) or "none" for how in HOW
    }
    return (
        f"False alarms: {len(alarms['bare'])} of {len(told)} bare answers lead, unasked, with the name "
        f"of a fault ({causes['bare']}); {len(alarms['named'])} of {len(told)} named answers ask "
        f"without a condition for a mend where none is needed ({causes['named']})."
    )


def _places(told: dict[str, Any]) -> str:
    """Say how many answers have the true cause at its place, whatever their fix does."""
    vague = {how: [name for name in told if told[name][how].get("place")] for how in HOW}
    right = {how: sum(told[name][how]["verdict"] == "right" for name in told) for how in HOW}
    bare, named = (right[how] + len(vague[how]) for how in HOW)
    return (
        f"**The true cause at its place have {bare} of {len(told)}, bare, and {named}, named**: the right ones, "
        f"and {len(vague['bare'])} vague ones, bare ({_listed(vague['bare'])}), and {len(vague['named'])}, named."
    )


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]])) or "none"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
