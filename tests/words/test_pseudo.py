"""A second language is possible: nothing that a reader sees is prose, but what the tables say.

Programs run while the pseudo-language is spoken (``pseudo.py``). Every word that is then outside of
brackets has to be torch's, or the program's own.
"""

from __future__ import annotations

import html
import io
import linecache
import re
import tokenize
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import scenarios
import torch
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from pseudo import OPEN, PSEUDO, bracketed, outside, without, words_in
from sampling import sampled
from scenarios import HEALTHY, SCENARIOS, Scenario
from torch import nn
from traitlets.config import Config

import gradviz as gv
from course import books
from gradviz.graph.records import Graph, Raised
from gradviz.live.explore import Exploration
from gradviz.notebook import lesson, magic
from gradviz.picture import render
from gradviz.picture.figure import Figure
from gradviz.picture.page import page
from gradviz.picture.state import state
from gradviz.words.en import ENGLISH
from gradviz.words.speech import language, speaking

# --- what may stand outside -----------------------------------------------------------------------

# what torch calls its things, and Python
TORCHS = set(
    """
    AccumulateGrad None True False inf nan NaN torch autograd grad grad_fn requires_grad is_leaf
    retains_grad retain_grad next_functions dtype device shape stride clone no_grad inference_mode
    exp_avg exp_avg_sq momentum_buffer detach detach_ data mean sum backward cpu int64 int32 float16 float32 float64 bfloat16 bool
    uint8 complex64
    """.split()
)
PYTHONS_OWN = re.compile(r"\b[\w/]+\.py\b")  # names of files
TORCHS_OWN = re.compile(r"\w+Backward\d*|\w+(Error|Warning|Interrupt|Exit)")


def words_of_code(source: str) -> set[str]:
    """The words of a program, comments apart."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    try:
        return {
            word
            for token in tokens
            if token.type != tokenize.COMMENT
            for word in words_in(token.string)
        }
    except (tokenize.TokenError, SyntaxError):  # a line that only IPython reads
        return words_in(re.sub(r"#.*", "", source))


def words_of_graph(graph: Graph) -> set[str]:
    """What torch calls what it ran and kept, and the lines that ran, those of libraries too."""
    parts = [call.function for call in graph.calls]
    parts += [call.module or "" for call in graph.calls]
    parts += [node.name for node in graph.nodes]
    parts += [saved.attribute for node in graph.nodes for saved in node.saved]
    for source in (call.source for call in graph.calls if call.source):
        parts += [source.code or "", Path(source.file).name.removesuffix(".py")]
        parts += linecache.getlines(source.file)
    return {word for part in parts for word in words_in(part.partition("#")[0])}


def begins_one(part: str, words: set[str]) -> bool:
    """Whether this is a word that was cut short."""
    return any(word.startswith(part) for word in words)


class Text(NamedTuple):
    """One thing that is shown: what kind of thing, and what it says."""

    kind: str
    text: str


class Program(NamedTuple):
    """What a program may be quoted for: its words, and what torch said to it."""

    words: set[str]
    quotes: list[str]

    def strange(self, shown: Text) -> set[str]:
        """The words that nobody may have said."""
        own = self.words | TORCHS
        rest = PYTHONS_OWN.sub("", outside(without(shown.text, self.quotes)))
        rest = re.sub(r"(\w+)…", lambda cut: "" if begins_one(cut[1], own) else cut[0], rest)
        return {w for w in words_in(rest) - own if not TORCHS_OWN.fullmatch(w)}

    def check(self, texts: Iterator[Text]) -> int:
        """Assert that nothing strange is shown, and return how many texts there were."""
        seen = {text for text in texts if text.text}
        found = {(t.kind, t.text, *self.strange(t)) for t in seen if self.strange(t)}
        assert not found, "\n".join(map(str, sorted(found)))
        return len(seen)


def lines_of(message: str) -> list[str]:
    """A message as it is quoted: whole, its first line, and with addresses written out."""
    plain = re.sub(r"0x[0-9a-fA-F]{4,}", "0x…", message)
    return [message, plain, *plain.splitlines(), " ".join(plain.split()), repr(plain)[1:-1]]


def said_by_torch(graph: Graph, *errors: BaseException | str | None) -> list[str]:
    """The errors of a recording, and those that are given."""
    messages = [event.message for event in graph.events if isinstance(event, Raised)]
    messages += [str(error) for error in errors if error]
    return [line for message in messages for line in lines_of(message)]


# --- what is shown --------------------------------------------------------------------------------


def plain(page: str) -> str:
    """What is read of HTML, alternative texts included."""
    page = re.sub(r"<(style|script).*?</\1>", "", page, flags=re.DOTALL)
    alts = re.findall(r'alt="([^"]*)"', page)
    return html.unescape("\n".join([re.sub(r"<[^>]*>", " ", page), *alts]))


def in_figure(figure: Figure) -> Iterator[Text]:
    for scene in (figure.whole, figure.scene):
        for card in scene.cards:
            made_here = card.kind in ("fold", "tag")  # of several cards, or of one more
            for row in card.rows:
                kind = "fold" if made_here and row.kind in ("code", "state") else "row"
                yield Text("cut" if row.kind == "cut" else kind, row.text)
            yield Text("detail", card.detail)
        for arrow in scene.arrows:
            yield from (Text("arrow", text) for text in (arrow.label, arrow.mark, arrow.short))
        yield from (Text("frame", box.label) for box in scene.boxes)
        yield from (Text("note", note) for note in scene.notes)
    yield Text("text", figure.text)
    yield Text("text", figure.alt)


def in_drawing(svg: str) -> Iterator[Text]:
    """The legend, and the chips on frames and arrows: a chip's lines belong together."""
    root = render.ElementTree.fromstring(svg)
    for group in root.iter(f"{render.SVG}g"):
        if group.get("class") != "node":
            words = [text.text or "" for text in group.findall(f"{render.SVG}text")]
            yield Text("chip", " ".join(words))


def in_state(shown: dict[str, Any]) -> Iterator[Text]:
    for card in shown["cards"].values():
        yield Text("name", card["key"])
        yield from (Text("row", row) for row in card["look"].splitlines())
        for label, value in card["facts"]:
            yield Text("label", label)
            yield Text("fact", value)
    for arrow in shown["arrows"].values():
        yield Text("name", arrow["key"])
    yield from (Text("table", cell) for row in shown["table"] for cell in row["cells"])
    yield Text("sentence", shown["sentence"])
    yield Text("problem", shown["problem"])
    yield Text("text", shown["alt"])
    yield Text("text", shown["text"])


def in_book(book: dict[str, Any]) -> Iterator[Text]:
    yield Text("title", book["title"])
    yield from (Text("title", control["label"]) for control in book["controls"])
    for shown in book["states"]:
        yield from in_state(shown)
    written = page(book).decode()
    yield Text("page", plain(written[written.index("<main") : written.index("</main>")]))


def in_player(recording: gv.Recording) -> Iterator[Text]:
    player = gv.play(recording)
    yield from in_book(player.book)
    bundle, _ = player._repr_mimebundle_()
    yield from (Text("player", line) for line in bundle["text/plain"].splitlines())


def in_widgets(root: Any) -> Iterator[Text]:
    """What stands on controls, and what they say."""
    for name in ("description", "tooltip", "placeholder"):
        yield Text("control", plain(getattr(root, name, None) or ""))
    yield from (Text("control", str(tip)) for tip in getattr(root, "tooltips", ()))
    for child in getattr(root, "children", ()):
        yield from in_widgets(child)


def in_exploration(exploration: Exploration) -> Iterator[Text]:
    yield Text("control", repr(exploration))
    yield Text("text", exploration.text)
    yield from in_widgets(exploration.widget)
    yield from in_state(exploration.state)
    yield from in_figure(exploration.figure)


def in_question(asked: lesson.Question) -> Iterator[Text]:
    for answer in (None, *asked.answers):
        reply = asked.reveal() if answer is None else asked.answer(answer)
        # the right one is told in the words of the run, where the question has none of its own
        kind = "sentence" if asked._run and asked._run.sentence in reply else "reply"
        yield from (Text(kind, line) for line in reply.splitlines())
    yield from in_widgets(asked.widget)
    yield Text("question", plain(asked.html))
    yield Text("question", repr(asked))


# --- the language itself --------------------------------------------------------------------------


def test_every_word_of_the_language_is_in_brackets() -> None:
    assert PSEUDO.sentences.keys() == ENGLISH.sentences.keys()
    assert PSEUDO.answers.keys() == ENGLISH.answers.keys()
    for sentence in PSEUDO.sentences.values():
        assert not words_in(outside(re.sub(r"\{(\w+)(:[^{}]*)?\}", "", sentence))), sentence
    assert OPEN in PSEUDO.numbers[1]
    assert (PSEUDO.last_two, PSEUDO.others) == ("{}⟦ and ⟧{}", "{}⟦ more⟧")


def test_a_language_spoken_inside_another_ends_first(pseudo: None) -> None:
    with speaking(ENGLISH):
        assert language() is ENGLISH
    assert language() is PSEUDO


@pytest.mark.parametrize(
    "text",
    ["never reached", f"{bracketed('made under')} no_grad and more", "[1, 2] to b", "leaf · 3"],
)
def test_prose_outside_of_brackets_is_found(text: str) -> None:
    assert Program({"b"}, []).strange(Text("frame", text))


def test_what_torch_and_the_program_say_is_not_prose() -> None:
    program = Program(words_of_code("loss = net(x)  # a loss"), lines_of("one of the variables is"))
    shown = "⟦stops with ⟧RuntimeError: one of the variables …⟦: ⟧loss = net(x) · MulBackward0"
    assert not program.strange(Text("frame", shown))
    assert program.strange(Text("frame", "a loss is here"))


# --- programs -------------------------------------------------------------------------------------

OWN = [
    Scenario(name, 0, frozenset(), "", "", source)
    for name, source in {
        "cuts": """
a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
b, c, d, e = a.detach(), a.argmax(), a > 2, a.tolist()
f = a.sum().item()
g = a.data
with torch.no_grad():
    h = a * 2
    k = h + 1
with torch.inference_mode():
    m = a * 3
n = torch.zeros(3)
with torch.no_grad():
    n.copy_(a)
p = a.unbind(0)
loss = (a * b + p[1] * k).sum()
loss.backward()
loss2 = a.sum()
a.requires_grad_(False)
b.detach_()
""",
        "errors": """
a = torch.tensor([1.0, 2.0], requires_grad=True)
w = torch.tensor([1.0, 2.0], requires_grad=True)
out = (a * w).sigmoid()
k = out.detach()
k.zero_()
x = a.exp()
y = x.exp()
x.mul_(2)
a.register_hook(lambda grad: grad * 2)
a.grad = torch.ones(2)
out.sum().backward()
torch.autograd.grad((a * 2).sum(), a)
y.sum().backward()
""",
        "loop": """
net = nn.Sequential(*[nn.Sequential(nn.Linear(3, 3), nn.ReLU()) for _ in range(12)])
w = torch.ones(3, requires_grad=True)
x = torch.ones(2, 3)
for i in range(8):
    x = x * w
loss = net(x).pow(2).mean()
loss.backward()
""",
        "large": """
a = torch.ones(3, 4, requires_grad=True)
w = torch.ones(20, requires_grad=True)
m = torch.ones((), device="meta", requires_grad=True)
b = a * 2
b.register_hook(lambda g: g * 2)
def doubled(t):
    t.grad.mul_(2)
a.register_post_accumulate_grad_hook(doubled)
b.retain_grad()
c = b.exp() + a
c.sum().backward(retain_graph=True)
c.sum().backward(retain_graph=True)
g, = torch.autograd.grad(c.sum(), a)
(m * m).backward()
c, d = w.view(-1, 10).unbind(0)
w.grad = torch.ones(20)
(c * 3 + d.sqrt() * 0).sum().backward()
w.grad.zero_()
w.grad = None
""",
        "nothing": "pass",
        "many_names": """
leaves = [torch.tensor(float(i), requires_grad=True) for i in range(9)]
with torch.no_grad():
    total = sum(leaves)
v = leaves[0].view(1)
v.retain_grad()
loss = torch.stack(leaves).sum() * total + v.sum()
loss.backward()
""",
    }.items()
]
SAMPLE = [*OWN, *sampled([*SCENARIOS[::4], *HEALTHY[::5]], 16)]


def recorded(scenario: Scenario) -> tuple[gv.Recording, dict[str, Any], Program]:
    """A program, recorded while the pseudo-language is spoken."""
    recording = gv.record()
    names, error = scenarios.run(scenario, recording)
    words = words_of_code(scenario.source) | words_of_graph(recording.graph)
    words |= {"setup", "program", *words_in(scenario.name)}
    for module in (m for m in names.values() if isinstance(m, nn.Module)):
        words |= {word for name, _ in module.named_modules() for word in words_in(name)}
        words |= {word for name, _ in module.named_parameters() for word in words_in(name)}
    return (
        recording,
        {**names, "error": error},
        Program(words, said_by_torch(recording.graph, error)),
    )


@pytest.fixture
def pseudo() -> Iterator[None]:
    with speaking(PSEUDO), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("scenario", SAMPLE, ids=lambda s: s.name)
def test_nothing_else_is_said_of_a_program(scenario: Scenario, pseudo: None) -> None:
    recording, _, program = recorded(scenario)
    figure = recording.figure()
    count = program.check(in_figure(figure))
    if not scenario.ask and scenario in OWN:
        program.check(in_drawing(figure.svg) if figure.scene.cards else iter(()))
        program.check(in_figure(recording.figure("nodes")))
        program.check(in_player(recording))
    figure.__dict__.setdefault("svg", "<svg/>")  # drawing takes longest, and says no more
    program.check(in_state(state(figure)))
    assert count > 5 or scenario.name == "nothing"


def test_what_was_not_read_is_told_by_every_reader(pseudo: None) -> None:
    with speaking(ENGLISH):  # what was recorded has no word of it
        recording, names, _ = recorded(next(s for s in OWN if s.name == "large"))
    kept = [value for event in recording.events for value in event if isinstance(value, str)]
    kept += [gradient.preview for gradient in recording.graph.gradients]
    assert any("‖" in value for value in kept)
    assert {*kept} & {"(3, 4)", "()", "(20,)"} == {"(3, 4)", "()", "(20,)"}
    assert not words_in(" ".join(kept))
    figure = gv.Figure(recording.graph, fold=False)  # an outline shows norms, not values
    shown = {
        "cards": in_figure(figure),
        "drawing": in_drawing(figure.svg),
        "state": in_state(state(figure)),
        "player": in_player(recording),
        "why": iter([Text("why", str(recording.explain(names["a"])))]),
    }
    for name, texts in shown.items():
        together = " ".join(text.text for text in texts)
        assert "3×4⟦ values⟧" in together, name
        assert not re.search(r"\(\d+, \d+\)|‖", together), name


@pytest.mark.parametrize("scenario", SCENARIOS[::3], ids=lambda s: s.name)
def test_nothing_else_is_said_why(scenario: Scenario, pseudo: None) -> None:
    recording, names, program = recorded(scenario)
    kinds = (torch.Tensor, nn.Module, torch.optim.Optimizer)
    known = {n: v for n, v in names.items() if isinstance(v, kinds)}
    found = gv.explain(
        *scenarios.subjects(scenario, names),
        error=names["error"],
        recording=recording,
        names=known,
    )
    program.check(iter([Text("why", str(found)), Text("why", plain(found.html))]))


# --- panels, questions, pages ---------------------------------------------------------------------

SCENARIO = """
@gv.explore(copy=gv.controls.copies, again=gv.controls.button("once more"), k=(0.0, 1.0))
def scenario(copy, again, k, flag=True):
    a = torch.tensor([1.0, 2.0], requires_grad=flag)
    b = copy(a) * k
    for _ in range(again):
        b = b * 2
    (b + a).sum().backward()
"""
ASKED = """
asked = lesson.question(
    "What is `a.grad`?", scenario, {"copy": "detach"},
    truth=lambda run: run.tensors["a"]["grad"],
    answers={
        "[1, 1]": lesson.Wrong("M-detached-never", "see the dashed arrow.", "b"),
        "[2, 2]": lesson.Wrong("a copy is linked", "it is not.", source="https://example.org"),
        "7": lesson.Wrong("seven comes back", "it does not."),
    })
nobody = lesson.question(
    "And now?", scenario, truth=lambda run: 1 / 0,
    answers={"1": lesson.Wrong("so", "it is so."), "2": lesson.Wrong("no", "it is not.")})
wrong = lesson.question(
    "And now?", scenario, truth=lambda run: "else",
    answers={"1": lesson.Wrong("so", "it is so."), "2": lesson.Wrong("no", "it is not.")})
"""


def ran(source: str) -> tuple[dict[str, Any], Program]:
    names: dict[str, Any] = {"torch": torch, "gv": gv, "lesson": lesson}
    exec(compile(source, "<panel>", "exec"), names)
    quotes = lines_of("element 0 of tensors does not require grad and does not have a grad_fn")
    quotes += ["division by zero"]
    words = words_of_code(source) | words_in(" ".join(gv.controls.copies))
    for setting in gv.controls.copies if "copy" in names["scenario"].values else ():
        words |= words_of_graph(names["scenario"].run(copy=setting, again=1).graph)
    return names, Program(words, quotes)


def test_nothing_else_is_said_in_a_panel(pseudo: None) -> None:
    names, program = ran(SCENARIO)
    exploration = names["scenario"]
    assert program.check(in_exploration(exploration)) > 50
    exploration.set(copy="detach", again=2, flag=False)
    assert exploration.error
    program.check(in_exploration(exploration))
    widget = exploration.widget.children[0].children[1]
    assert widget.words == PSEUDO.page


def test_nothing_else_is_said_in_a_question(pseudo: None) -> None:
    names, program = ran(SCENARIO + ASKED)
    for name in ("asked", "nobody", "wrong"):
        program.check(in_question(names[name]))
    assert "none_right" not in names["wrong"].reveal()
    lesson.present()
    try:
        program.check(in_widgets(names["asked"].widget))
    finally:
        lesson.present(False)


def test_the_front_end_is_given_the_words_of_another_language_only(pseudo: None) -> None:
    book = {"title": "t", "code": {}, "controls": [], "states": [state(Figure(Graph()))]}
    assert gv.GraphWidget().words == dict(PSEUDO.page)
    there = page(book)
    with speaking(ENGLISH):
        assert language() is ENGLISH
        assert gv.GraphWidget().words == {}
        assert len(page(book)) < len(there)


# --- notebooks ------------------------------------------------------------------------------------


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    """A shell of its own, which remembers nothing."""
    InteractiveShell.clear_instance()
    config = Config()
    config.HistoryManager.enabled = False
    yield InteractiveShell.instance(config=config)
    InteractiveShell.clear_instance()


@pytest.mark.parametrize("number", ["00", "11"])
def test_nothing_else_is_said_in_a_notebook(
    number: str, shell: InteractiveShell, pseudo: None
) -> None:
    path = next(books.FOLDER.glob(f"{number}_*.ipynb"))
    cells = [cell for cell in books.read(path).cells if cell.kind == "code"]
    words = {word for cell in cells for word in words_of_code(cell.source)}
    checked: set[int] = set()
    count = 0
    for cell in cells:
        with capture_output() as captured:
            ran = shell.run_cell(cell.source, store_history=True)
        error = ran.error_in_exec or ran.error_before_exec
        assert error is None or "raises-exception" in cell.tags, (cell.source, error)
        recordings = [loaded.notebook.recording for loaded in magic._loaded.values()]
        graphs = [r.graph for r in recordings if r]
        own = words.union(*map(words_of_graph, graphs))
        quotes = [q for graph in graphs for q in said_by_torch(graph, error)]
        if isinstance(panel := ran.result, Exploration):  # it is told in the cell too
            own |= words_of_graph(panel.graph) | words_of_options(panel)
            quotes += said_by_torch(panel.graph, panel.error)
        program = Program(own, quotes)
        bundles = [output.data for output in captured.outputs]
        texts = [Text("notebook", bundle.get("text/plain", "")) for bundle in bundles]
        texts += [Text("notebook", plain(bundle.get("text/html", ""))) for bundle in bundles]
        count += program.check(iter(texts))
        for value in [*shell.user_ns.values(), ran.result]:
            if id(value) not in checked and isinstance(value, (Exploration, lesson.Question)):
                checked.add(id(value))
                count += check_live(value, words)
    assert count > 100


def words_of_options(panel: Exploration) -> set[str]:
    """Return what the author called the choices of a panel."""
    return words_in(" ".join(label for c in panel._controls.values() for label in c.choices))


def check_live(value: Exploration | lesson.Question, words: set[str]) -> int:
    """Check what an exploration or a question of a notebook shows."""
    if isinstance(value, Exploration):
        quotes = said_by_torch(value.graph, value.error)
        words = words | words_of_options(value) | words_of_graph(value.graph)
        return Program(words, quotes).check(in_exploration(value))
    value.reveal()
    run = value._run
    assert run is not None
    quotes = said_by_torch(run.graph, run.error)
    words = words | words_in(value.settings) | words_of_graph(run.graph)
    words |= set(lesson.SOURCES.values())
    return Program(words, quotes).check(in_question(value))


MAGIC = """
%load_ext gradviz
%gradviz
%gradviz whatever
%gradviz why 1 +
%gradviz why nowhere
%gradviz why
"""


def test_nothing_else_is_said_by_the_magic(shell: InteractiveShell, pseudo: None) -> None:
    said = ""
    for line in MAGIC.strip().splitlines():
        with capture_output() as captured:
            shell.run_cell(line)
        said += captured.stdout + captured.stderr
    program = Program(words_in(MAGIC) | {"UsageError"}, lines_of("name 'nowhere' is not defined"))
    program.check(Text("magic", line) for line in said.splitlines())
    for key in ("help", "not_known", "no_expressions", "raised", "nothing_found"):
        first = PSEUDO.sentences[f"magic.{key}"].partition("{")[0]
        assert first in said, key


def test_nothing_else_is_said_of_a_part_or_of_what_is_too_long(pseudo: None) -> None:
    source = """
class Unreadable(Exception):
    def __str__(self):
        raise ValueError("no")
@gv.explore(fails=True)
def scenario(fails):
    a = torch.ones(2, requires_grad=True)
    for _ in range(30):
        a = a * 2
    print("much " * 2000)
    if fails:
        raise Unreadable()
"""
    names, program = ran(source)
    exploration = names["scenario"]
    printed = program.check(iter([Text("printed", exploration.state["printed"])]))
    failed = program.check(iter([Text("error", exploration.error)]))
    assert (printed, failed) == (1, 1)
    for start in (0, 25):
        player = gv.play(exploration.recording, start=start, title="much")
        program.check(iter([Text("title", player.book["title"])]))
