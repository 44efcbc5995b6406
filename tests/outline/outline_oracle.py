"""What has to hold of every outline, with torch, or bookkeeping that torch agrees with, as judge.

Each check takes a script as it was drawn and returns what is wrong, as sentences; none is good.
``test_outline_properties`` asks them of a sample, ``soak_outlines`` of as many trees as wanted.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from drawn import Drawn, drawn
from model_scripts import Namespace, modules_of, named_parameters, run
from random_modules import RandomModules
from svg_text import Picture

from gradviz.graph.iterations import Iterations
from gradviz.graph.module_tree import ModuleTree
from gradviz.graph.operations import Operations
from gradviz.picture.outline.fit import HEIGHT, WIDTH
from gradviz.picture.outline.fold import fold_one
from gradviz.picture.outline.links import Links
from gradviz.picture.outline.norms import figure
from gradviz.picture.outline.scene import Card
from gradviz.picture.outline.unit import Merged, Unit

Check = Callable[[Drawn], list[str]]
CountCheck = Callable[[Drawn, Namespace], list[str]]
# By how much a norm may differ before it is rounded: of a tensor of at most eight numbers those
# numbers are recorded, with four digits each, and no norm.
CLOSE = 1e-4


# --- cards ----------------------------------------------------------------------------------------


def cards_hold_every_operation_once(drawn: Drawn) -> list[str]:
    """Every operation stands in one card, or on an arrow, or is data, or in an iteration of a loop
    for which another one is drawn, or in an evaluation that nothing else has to do with."""
    operations = drawn.fitting.operations
    times = Counter(call for card in drawn.fitted.outline.cards for call in card.calls)
    wrong = [f"call {call} stands in {n} cards" for call, n in times.items() if n > 1]
    data = _data(drawn) | _evaluations(drawn)
    iterations = Iterations(operations)
    for alike in iterations.all:
        # ``total += x`` begins with ``0 + x``, and writes afterwards
        functions = {
            tuple(operations.all[at].call.function.replace("add_", "add") for at in some)
            for some in alike.steps
        }
        wrong += ["iterations that are alike do not the same"] if len(functions) > 1 else []
    for op in operations.all:
        if op.at in iterations.left_out:
            continue
        on_arrow = not operations.tracked[op.at] and len(op.reads) == 1
        if op.call.id not in times and not on_arrow and op.at not in data:
            wrong.append(f"{op.call.function} (call {op.call.id}) stands in no card")
    return wrong


def _data(drawn: Drawn) -> set[int]:
    """The operations that nothing tracked and no parameter has to do with: masks, positions; and
    those that make a leaf of nothing: where derivatives are taken."""
    operations = drawn.fitting.operations
    found: set[int] = set()
    for op in operations.all:
        made_tracked = operations.tracked[op.at] and bool(op.reads)
        trains = made_tracked or any(map(operations.is_tracked, op.reads))
        if not trains and all(s is None or s in found for s in op.sources):
            found.add(op.at)
    return found


def _evaluations(drawn: Drawn) -> set[int]:
    """The operations without grad mode of whose results nothing with it reads any."""
    operations = drawn.fitting.operations
    found: set[int] = set()
    users: dict[int, set[int]] = {}
    for op in operations.all:
        for source in op.sources:
            users.setdefault(source, set()).add(op.at)
    for op in reversed(operations.all):
        if not op.call.grad_mode and users.get(op.at, set()) <= found:
            found.add(op.at)
    return found


def _owners(drawn: Drawn) -> dict[int, int]:
    """The card of each operation, by its place."""
    at_of = drawn.fitting.operations.of_call
    return {at_of[call]: card.id for card in drawn.fitted.outline.cards for call in card.calls}


def cards_are_convex_and_in_no_circle(drawn: Drawn) -> list[str]:
    """No way of values leaves a card and comes back: what stands on an arrow belongs to it."""
    operations, owner = drawn.fitting.operations, _owners(drawn)
    data = _data(drawn)
    through = {
        op.at for op in operations.all if op.at not in owner and not operations.tracked[op.at]
    }
    edges: dict[int, set[int]] = {}
    for op in operations.all:
        todo = [source for source in op.sources if source is not None]
        while todo and op.at in owner:
            source = todo.pop()
            if source in through:
                todo += [s for s in operations.all[source].sources if s is not None]
            elif source not in data and source in owner and owner[source] != owner[op.at]:
                edges.setdefault(owner[source], set()).add(owner[op.at])
    done: set[int] = set()
    under_way: set[int] = set()

    def circle(card: int) -> bool:
        if card in done:
            return False
        if card in under_way:
            return True
        under_way.add(card)
        found = any(circle(user) for user in sorted(edges.get(card, ())))
        under_way.discard(card)
        done.add(card)
        return found

    titles = {card.id: card.title for card in drawn.fitted.outline.cards}
    return [f"a way comes back to {titles[card]}" for card in sorted(edges) if circle(card)]


def arrows_are_links_of_values(drawn: Drawn) -> list[str]:
    """An arrow joins two cards of which one reads what the other made; and it is in the SVG."""
    operations, owner = drawn.fitting.operations, _owners(drawn)
    picture = Picture(drawn.svg)
    arrows = drawn.fitted.outline.arrows
    seen = picture.of("edge")
    wrong = []
    drawn_ones = Counter(seen_one.ends for seen_one in seen)
    for arrow in arrows:
        if not drawn_ones[f"n{arrow.tail}", f"n{arrow.head}"]:
            wrong.append(f"the {arrow.kind} arrow {arrow.tail} → {arrow.head} is not in the SVG")
    below: dict[int, set[int]] = {}
    for op in operations.all:
        for source in op.sources:
            if source is not None:
                below.setdefault(source, set()).add(op.at)
    for source, at in _held_by_derivatives(operations):
        below.setdefault(source, set()).add(at)
    for arrow in arrows:
        if arrow.kind != "gradient":
            continue
        tails = {at for at, card in owner.items() if card == arrow.tail}
        heads = {at for at, card in owner.items() if card == arrow.head}
        if tails and not any(below.get(at, set()) & heads for at in tails):
            wrong.append(f"a gradient goes {arrow.head} → {arrow.tail}, and no value")
    return wrong


def _held_by_derivatives(operations: Operations) -> set[tuple[int, int]]:
    """Which operation made what the nodes of a derivative hold, as torch's own edges tell: both."""
    made_in = {
        node.id: operations.of_call.get(node.call_id or -1) for node in operations.graph.nodes
    }
    ends = ((made_in.get(e.next_node_id), made_in[e.node_id]) for e in operations.graph.edges)
    return {
        (source, at)
        for source, at in ends
        if source is not None
        and at is not None
        and operations.all[at].call.function == "autograd.grad"
    }


# --- counts ---------------------------------------------------------------------------------------


def headline_counts_are_torchs(drawn: Drawn, bare: Namespace) -> list[str]:
    """The headline counts what ``.grad`` of a run without gradviz says."""
    parameters = named_parameters(bare)
    got = [p for p in parameters.values() if p.grad is not None]
    frozen = [p for p in parameters.values() if not p.requires_grad and p.grad is None]
    none = len(parameters) - len(got) - len(frozen)
    zero = sum(not p.grad.count_nonzero() for p in got if p.grad is not None)
    said = counted(Picture(drawn.svg).headline.lines[0])
    torchs = {
        "all": len(parameters),
        "get": len(got),
        "none": none,
        "frozen": len(frozen),
        "zero": zero,
    }
    return [f"the headline says {said}, torch {torchs}"] if said != torchs else []


def counted(title: str) -> dict[str, int]:
    """Read the numbers of a headline."""
    title = re.sub(r"(?<=\d),(?=\d{3})", "", title)
    numbers = {
        "all": r"^(\d+) parameter",
        "get": r"(?:(\d+) gets? a gradient|all (\d+) get)",
        "frozen": r"(\d+) (?:is|are) frozen",
        "zero": r"(\d+) of these only zeros",
    }
    found = {}
    for key, pattern in numbers.items():
        match = re.search(pattern, title)
        found[key] = int(next(filter(None, match.groups()))) if match else 0
    found["none"] = sum(int(n) for n in re.findall(r"(\d+) gets? none", title))
    return found


def cards_counts_add_up(drawn: Drawn, bare: Namespace) -> list[str]:
    """What the cards say of single parameters is, together, what torch says of all."""
    parameters = named_parameters(bare)
    cards = drawn.cards
    roots = modules_of(bare)
    root_names = {k: m.name for k, m in enumerate(drawn.graph.modules)}
    by_state: dict[str, set[str]] = {}
    for unit in cards.units:
        state = cards.states.of(unit)
        for key in ("here", "zero", "nan", "lost", "off", "frozen"):
            for weight in getattr(state, key):
                prefix = f"{root_names.get(weight.module_id)}." if len(roots) > 1 else ""
                prefix = "" if weight.module_id is None else prefix
                by_state.setdefault(key, set()).add(prefix + weight.name)
    for unit in cards.units:
        for path in unit.unused:
            found = {
                name
                for name, p in parameters.items()
                if name.startswith(f"{path}.") and p.requires_grad and p.grad is None
            }
            by_state.setdefault("lost", set()).update(found)
    got = {name for name, p in parameters.items() if p.grad is not None}
    frozen = {name for name, p in parameters.items() if not p.requires_grad} - got
    # a module that is never called and frozen, or that no outline opens, stands in no card
    said_got = by_state.get("here", set()) | by_state.get("zero", set())
    said_lost = by_state.get("lost", set()) | by_state.get("off", set())
    wrong = []
    if said_got != got:
        more, less = sorted(said_got - got), sorted(got - said_got)
        wrong.append(f"get a gradient: cards {more}, torch {less}")
    # what nothing read, of a module of which another parameter was read, stands above all cards
    lost = {*parameters} - got - frozen
    told = Picture(drawn.svg).headline.text
    said_lost |= {name for name in lost if f"{name} never used" in told}
    if said_lost - frozen != lost:
        more, less = sorted(said_lost - lost), sorted(lost - said_lost)
        wrong.append(f"get none: cards {more}, torch {less}")
    if not by_state.get("frozen", set()) <= frozen:
        wrong.append(f"not frozen: {sorted(by_state['frozen'] - frozen)}")
    return wrong


def counts_in_rows_add_up(drawn: Drawn, bare: Namespace) -> list[str]:
    """Where each module is called once and no weight is tied, the numbers in the rows of all cards
    add up to the headline's."""
    operations, owner = drawn.fitting.operations, _owners(drawn)
    for places in operations.uses.values():
        if len({(owner.get(at), operations.all[at].call.module_call) for at in places}) > 1:
            return []
    got, wrong = 0, []
    for card in Picture(drawn.svg).cards:
        text = " | ".join(card.lines[1:])
        whole = [int(n) for n in re.findall(r"✓ (\d+) of \d+", text)]
        parts = [int(n) for n in re.findall(r"(\d+) of \d+ ✓", text)]
        got += sum(whole or parts)  # a card that has room tells of its modules too
        if whole and sum(parts) > max(whole):
            wrong.append(f"{card.lines[0]}: its modules get {parts}, it {whole}")
    parameters = named_parameters(bare)
    torchs = sum(p.grad is not None for p in parameters.values())
    if got != torchs:
        wrong.append(f"the rows say that {got} get a gradient, torch {torchs}")
    return wrong


# --- norms ----------------------------------------------------------------------------------------


@contextmanager
def outputs_kept(names: Namespace, kept: dict[tuple[str, int], torch.Tensor]) -> Iterator[None]:
    """Keep what each call of each module returns, and its gradient, without gradviz. What is
    written later is left out: torch then keeps the gradient of what was written."""
    handles = []
    versions: dict[tuple[str, int], int] = {}
    for root, module in modules_of(names).items():
        for path, part in module.named_modules(prefix=root):

            def keep(_m: object, _i: object, output: object, path: str = path) -> None:
                if isinstance(output, torch.Tensor) and output.requires_grad:
                    output.retain_grad()
                    key = path, sum(one == path for one, _ in kept)
                    kept[key], versions[key] = output, output._version

            handles.append(part.register_forward_hook(keep))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
        for key, version in versions.items():
            if kept[key]._version != version:
                del kept[key]


def bare_run(source: str, filename: str) -> tuple[Namespace, dict[tuple[str, int], torch.Tensor]]:
    """Run a script without gradviz. Return its names and what its modules returned."""
    names: Namespace = {}
    kept: dict[tuple[str, int], torch.Tensor] = {}
    run(source, filename, lambda: outputs_kept(names, kept), names)
    return names, kept


def shows(text: str, value: float) -> bool:
    """Say whether a number on a picture is this one, rounded."""
    return text in {figure(value), figure(value * (1 + CLOSE)), figure(value * (1 - CLOSE))}


def norms_on_arrows(
    drawn: Drawn, kept: dict[tuple[str, int], torch.Tensor]
) -> tuple[list[str], int]:
    """The number on an arrow is the norm of ``.grad`` of the value that goes there, where this is
    what one call of a module returned and all its users stand in one card. Return what is wrong,
    and how many numbers were compared."""
    operations = drawn.fitting.operations
    tree = ModuleTree(operations)  # of all iterations of a loop, of which one is drawn
    owner = _owners(drawn)
    returned: dict[int, torch.Tensor] = {}
    numbers: Counter[str] = Counter()
    for call in drawn.graph.module_calls:
        path = tree.name(call)
        number = numbers[path]
        below = tree.below.get(call.id, [])
        if not below or not operations.tracked[below[-1]]:
            continue
        numbers[path] += 1
        if (path, number) in kept:
            returned[below[-1]] = kept[path, number]
    wrong, compared = [], 0
    for arrow in drawn.fitted.outline.arrows:
        if arrow.kind != "gradient" or not arrow.label:
            continue
        goes = {
            source
            for at, card in owner.items()
            if card == arrow.head
            for source in operations.all[at].sources
            if source is not None and owner.get(source) == arrow.tail
        }
        if len(goes) != 1 or not goes <= returned.keys():
            continue
        (at,) = goes
        users = {owner.get(user) for user in operations.users[at]}
        grad = returned[at].grad
        if users != {arrow.head} or grad is None:
            continue
        compared += 1
        norm = grad.double().norm().item()
        if not shows(arrow.label[0], norm):
            wrong.append(f"arrow {arrow.tail} → {arrow.head}: {arrow.label[0]}, torch {norm}")
    return wrong, compared


def norms_of_parameters(drawn: Drawn, bare: Namespace) -> tuple[list[str], int]:
    """The number of a card, or of a row for one of its modules, is the norm of ``.grad`` of the
    parameters there, where nothing else uses them and one backward ran. Return what is wrong, and
    how many were compared."""
    if len(drawn.graph.backwards) != 1:
        return [], 0
    cards, operations = drawn.cards, drawn.fitting.operations
    wrong, compared = [], 0
    for card, unit in zip(drawn.fitted.outline.cards, cards.units, strict=True):
        for part, number in _numbers(unit, card):
            weights = cards.expansion.weights_in(part)
            inside = {*part.ops}
            if not all(inside.issuperset(operations.uses.get(w.object_id, ())) for w in weights):
                continue
            grads = [torchs_grad(w.name, w.module_id, drawn, bare) for w in weights]
            norms = [g.double().norm().item() for g in grads if g is not None]
            if not norms:
                continue
            compared += 1
            norm = math.sqrt(sum(n * n for n in norms))
            if not shows(number, norm):
                wrong.append(f"{card.title}: {number}, torch {norm}")
    return wrong, compared


def torchs_grad(
    name: str, module_id: int | None, drawn: Drawn, bare: Namespace
) -> torch.Tensor | None:
    """Return ``.grad`` of a parameter of the run without gradviz, by its name on the picture."""
    parameters = named_parameters(bare)
    root = "" if module_id is None else drawn.graph.modules[module_id].name
    return parameters[f"{root}.{name}" if f"{root}.{name}" in parameters else name].grad


def _numbers(unit: Unit, card: Card) -> Iterator[tuple[Unit, str]]:
    """Go through the numbers of a card with what each is the norm of."""
    rows = card.rows[1:]
    if unit.members and unit.merged is not Merged.RANGE:
        names = [row for row in rows if row.left[0].look == "name"]
        if len(names) == len(unit.members):
            pairs = zip(unit.members, names, strict=True)
            yield from ((member, row.right) for member, row in pairs if row.right)
        return
    counts = [row for row in rows if row.left[0].text.startswith("✓")]
    if len(counts) == 1 and re.fullmatch(r"[\d.e+-]+", counts[0].right) and not unit.members:
        yield unit, counts[0].right


# --- cuts -----------------------------------------------------------------------------------------


def costly_cuts_are_told(drawn: Drawn, made: RandomModules, bare: Namespace) -> list[str]:
    """Every line that costs a parameter its gradient stands on an arrow, in a row, on a frame or in
    the headline."""
    expected = made.expect(bare)
    picture = Picture(drawn.svg)
    operations = drawn.fitting.operations
    tree = drawn.fitting.expansion.tree
    cut_lines = {
        call.source.line
        for cut in operations.facts.real_cuts
        if operations.of_call.get(cut.call_id) in operations.feeding
        and (call := drawn.graph.call[cut.call_id]).source
    }
    quiet_lines = {
        source.line
        for at in operations.feeding
        for call_id in tree.around(operations.all[at].call.module_call)
        if not operations.all[at].call.grad_mode and (source := tree.call[call_id].source)
    }
    told = " | ".join(seen.text for seen in picture.all)
    # a narrow label of an arrow or a frame has the word, the line and the count in rows of their own
    labels = [seen.text.replace(" | ", " ") for seen in picture.all if seen.text.count(" | ") <= 2]
    told = " | ".join([told, *labels])
    wrong = []
    for cut in expected.cuts:
        above = 3 if cut.word == "no_grad" else 0  # its with stands up to so many lines higher
        lines = {*range(cut.line - above, cut.line + 1)}
        if (
            expected.costs(cut)
            and lines & (quiet_lines if cut.word == "no_grad" else cut_lines)
            and not any(
                re.search(
                    rf"{re.escape(cut.word)}[^|]*line {line}\b|line {line}: {re.escape(cut.word)}",
                    told,
                )
                for line in lines
            )
        ):
            n = len(expected.costs(cut))
            wrong.append(f"{cut.word} in line {cut.line} costs {n}, not told")
    return wrong


# --- the page -------------------------------------------------------------------------------------


def it_fits_or_is_the_coarsest(drawn: Drawn) -> list[str]:
    """A picture is no larger than a page, or the coarsest outline was tried too: one column, in
    which no two neighbours can be folded any more. It is then the least too large of all tried."""
    fitted = drawn.fitted
    if fitted.fits:
        return []
    size = f"{fitted.width:.0f} × {fitted.height:.0f}, more than {WIDTH} × {HEIGHT}"
    columns = [plan for _, plan in drawn.fitting.plans if plan.in_column]
    if not columns:
        return [f"{size}, and one column was not tried"]
    coarsest = drawn.fitting.cards(columns[-1])
    if fold_one(coarsest, even_if_it_matters=True) is not None:
        return [f"{size}, and two cards could be folded"]
    over = min(max(one.width / WIDTH, one.height / HEIGHT) for one, _ in drawn.fitting.plans)
    least = max(fitted.width / WIDTH, fitted.height / HEIGHT)
    return [f"{size}, and a smaller one was tried"] if least > over else []


def no_text_is_clipped_to_nothing(drawn: Drawn) -> list[str]:
    """Of every name something is left, and every cell has a width."""
    wrong = []
    if 'width="-' in drawn.fitted.source:
        wrong.append("a cell is less than nothing wide")
    cards = {seen.title: seen for seen in Picture(drawn.svg).cards}
    for card in drawn.fitted.outline.cards:
        lines = cards[f"n{card.id}"].lines
        if len(lines) < len(card.rows):
            wrong.append(f"{card.title}: {len(card.rows)} rows, {len(lines)} lines of text")
            continue
        for row, line in zip(card.rows, lines, strict=False):
            wordings = [row.left[0].text, *row.left[0].shorter]
            least = min(5, *(len(w) for w in wordings))
            if not any(line.startswith(w[:least]) for w in wordings):
                wrong.append(f"{card.title}: of {row.left[0].text!r} is left {line!r}")
    return wrong


def it_is_the_same_twice(drawn_once: Drawn) -> list[str]:
    """Another recording of the same script gives the same bytes."""
    again = drawn(drawn_once.source, drawn_once.filename)
    same = again.fitted.source == drawn_once.fitted.source and again.svg == drawn_once.svg
    return [] if same else ["another run gives another picture"]


OF_PICTURES: list[Check] = [
    cards_hold_every_operation_once,
    cards_are_convex_and_in_no_circle,
    arrows_are_links_of_values,
    it_fits_or_is_the_coarsest,
    no_text_is_clipped_to_nothing,
    it_is_the_same_twice,
]
OF_COUNTS: list[CountCheck] = [
    headline_counts_are_torchs,
    cards_counts_add_up,
    counts_in_rows_add_up,
]


def report(made: RandomModules) -> list[str]:
    """Draw one random tree. Return everything that is wrong with its outline."""
    picture = drawn(made.source, made.filename)
    bare, kept = bare_run(made.source, made.filename)
    wrong = [sentence for check in OF_PICTURES for sentence in check(picture)]
    wrong += [sentence for check in OF_COUNTS for sentence in check(picture, bare)]
    wrong += norms_on_arrows(picture, kept)[0] + norms_of_parameters(picture, bare)[0]
    return wrong + costly_cuts_are_told(picture, made, bare)


def has_no_circle(links: Links) -> bool:
    """Say whether no way leads from a card back to it, so that all have a place in the order."""
    return len(links.order) == len(links.units)


def sizes(made: RandomModules) -> Counter[str]:
    """Count what is no fault of an outline and yet not as good as it could be."""
    picture = drawn(made.source, made.filename)
    fitted = picture.fitted
    return Counter(
        fits=int(fitted.fits),
        crossed=int(fitted.crossings > 0),
        circles=int(not has_no_circle(picture.cards.links)),
        rows=int(any(unit.merged is Merged.ROWS for unit in picture.cards.units)),
    )
