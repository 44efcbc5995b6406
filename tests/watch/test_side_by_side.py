"""Recordings that overlap: nested ones, ones that end out of order, asyncio tasks, generators,
threads."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import threading
import traceback

import pytest
import torch
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack

import gradviz as gv
from gradviz.graph.records import NoteKind
from gradviz.watch.recorder import Recorder


@pytest.fixture(autouse=True)
def _no_mode_is_left():
    yield
    assert _get_current_function_mode_stack() == []


def functions(rec):
    return [call.function for call in rec.graph.calls]


def told(graph):
    """A graph as plain data, without what tells of other tasks."""
    assert all(note.kind is NoteKind.ELSEWHERE for note in graph.notes), graph.notes
    parts = (
        graph.calls,
        graph.tensors,
        graph.nodes,
        graph.edges,
        graph.cuts,
        graph.events,
        graph.gradients,
    )
    numbers = [n._replace(sequence_nr=None) for n in parts[2]]  # torch counts all nodes of a thread
    # of the statements around a call its own: the test calls the same from several lines
    calls = [
        c._replace(source=c.source and c.source._replace(frames=c.source.frames[:1]))
        for c in graph.calls
    ]
    return [list(part) for part in (calls, parts[1], numbers, *parts[3:])]


# --- out of order ---------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [2, 3])
def test_recordings_that_end_in_any_order_have_what_ran_while_they_were_open(count):
    a = torch.ones(2, requires_grad=True)
    steps = [a.exp, a.sin, a.cos, a.tanh, a.abs, a.neg, a.sqrt]
    for order in itertools.permutations(range(count)):
        recs = [gv.record() for _ in range(count)]
        expected = [[] for _ in recs]
        is_open = set()
        for step, which in enumerate((*range(count), *order)):
            if step < count:
                recs[which].__enter__()
                is_open.add(which)
            else:
                recs[which].__exit__(None, None, None)
                is_open.remove(which)
            steps[step]()
            for other in is_open:
                expected[other].append(steps[step].__name__)
        assert [functions(rec) for rec in recs] == expected, order
        assert [rec.graph.notes for rec in recs] == [()] * count
        assert _get_current_function_mode_stack() == []


def test_other_modes_keep_their_place():
    class Counting(TorchFunctionMode):
        seen = 0

        def __torch_function__(self, function, types, args=(), kwargs=None):
            self.seen += 1
            return function(*args, **(kwargs or {}))

    a = torch.ones(2, requires_grad=True)
    first, rec, second, other = Counting(), gv.record(), Counting(), gv.record()
    for one in (first, rec, second, other):
        one.__enter__()
    rec.__exit__(None, None, None)
    assert _get_current_function_mode_stack() == [first, second, other._recorder]
    a.exp()
    assert (first.seen, second.seen) == (1, 1)
    other.__exit__(None, None, None)
    assert _get_current_function_mode_stack() == [first, second]
    second.__exit__(None, None, None)
    first.__exit__(None, None, None)
    assert (functions(rec), functions(other)) == ([], ["exp"])


def test_a_mode_that_is_left_below_a_recording_switches_it_off_and_the_notes_say_so():
    class Passing(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            return function(*args, **(kwargs or {}))

    mode, rec = Passing(), gv.record()
    mode.__enter__()
    rec.__enter__()
    torch.ones(2).exp()
    mode.__exit__(None, None, None)  # takes off what stands on top: the recording
    torch.ones(2).sin()
    rec.__exit__(None, None, None)
    mode.__exit__(None, None, None)
    assert functions(rec) == ["ones", "exp"]
    assert ["switched the recording off early" in note for note in rec.notes] == [True]


def test_errors_in_between():
    a = torch.ones(2, requires_grad=True)
    first, second = gv.record(), gv.record()

    def overlap():
        with contextlib.ExitStack() as stack:
            stack.enter_context(first)
            second.__enter__()
            with contextlib.suppress(RuntimeError):
                a + torch.ones(3)
            first.__exit__(None, None, None)
            stack.pop_all()
            a.exp()
            a + torch.ones(3)

    with pytest.raises(RuntimeError, match="size"):
        overlap()
    second.__exit__(None, None, None)
    assert functions(first) == ["ones", "add"]
    assert functions(second) == ["ones", "add", "exp", "ones", "add"]


def test_a_recording_is_entered_once():
    with gv.record() as rec:
        with pytest.raises(gv.GradvizError, match="was used already"):
            rec.__enter__()
        torch.ones(2).exp()
    with pytest.raises(gv.GradvizError, match="was used already"):
        rec.__enter__()
    assert functions(rec) == ["ones", "exp"]


# --- nested ---------------------------------------------------------------------------------------


def program(a):
    b = doubled(a)
    c = b.detach()
    c.add_(1)
    v = b[0:1]
    with torch.no_grad():
        v * 2
    b.register_hook(lambda g: g * 2)
    loss = (b * c).sum()
    loss.backward()
    (g,) = torch.autograd.grad((a * a).sum(), a)
    return g


def doubled(t):
    result = t * 2
    return result


def test_two_recordings_of_one_block_see_the_same():
    a = torch.ones(2, requires_grad=True)
    with gv.record() as alone:
        program(a)
    a.grad = None
    with gv.record() as outer, gv.record() as inner:
        program(a)
    assert told(outer.graph) == told(inner.graph)
    assert [c.function for c in alone.graph.calls] == functions(inner)
    assert str(alone.figure()) == str(inner.figure()) == str(outer.figure())


def test_an_error_inside_two_recordings_has_no_frame_of_ours():
    a = torch.ones(2, requires_grad=True)

    def frames(fail, recorders):
        def run():
            with contextlib.ExitStack() as stack:
                for recorder in recorders:
                    stack.enter_context(recorder())
                fail()

        with pytest.raises((RuntimeError, IndexError)) as caught:
            run()
        return [
            f.name
            for f in traceback.extract_tb(caught.value.__traceback__)
            if "contextlib" not in f.filename
        ]

    for fail in (lambda: a + torch.ones(3), lambda: a.size(7), lambda: (a * 2).backward()):
        plain = frames(fail, ())
        assert frames(fail, (gv.record,)) == plain
        assert frames(fail, (gv.record, gv.record)) == plain


def test_calls_leave_the_traceback_of_an_error_that_is_being_handled_alone():
    with gv.record():
        try:
            doubled(torch.ones(2) + torch.ones(3))
        except RuntimeError as error:
            before = traceback.extract_tb(error.__traceback__)
            torch.ones(2).size()
            torch.ones(2).exp()
            after = traceback.extract_tb(error.__traceback__)
    assert before == after
    assert len(after) == 1


# --- asyncio --------------------------------------------------------------------------------------


async def steps(length, breath):
    """One program in pieces; ``breath`` lets other tasks run."""
    a = torch.ones(2, requires_grad=True)
    with gv.record() as rec:
        h = a
        for _ in range(length):
            h = h * 2
            await breath()
        with torch.no_grad():
            w = h * 3
        cut = h.detach()
        await breath()
        h.sum().backward()
        await breath()
        cut.add_(w)
    return rec


@pytest.mark.parametrize("lengths", [(3, 3, 3), (1, 4, 9), (9, 4, 1), (0, 7, 0, 2)])
def test_tasks_that_record_side_by_side_have_their_own_events(lengths):
    async def breathe():
        await asyncio.sleep(0)

    async def together():
        return await asyncio.gather(*(steps(length, breathe) for length in lengths))

    async def silent():
        return None

    recs = asyncio.run(together())
    assert _get_current_function_mode_stack() == []
    for length, rec in zip(lengths, recs, strict=True):
        alone = asyncio.run(steps(length, silent))
        assert told(rec.graph) == told(alone.graph)
        assert alone.graph.notes == ()


def test_a_recording_has_the_calls_of_tasks_begun_inside_it_and_counts_those_of_others():
    a = torch.ones(2, requires_grad=True)

    async def child():
        a.sin()
        await asyncio.sleep(0)
        a.cos()

    async def bystander(ready, over):
        await ready.wait()
        a.tanh()
        _ = a.requires_grad  # asks, and is no call to count
        over.set()

    async def main():
        ready, over = asyncio.Event(), asyncio.Event()
        other = asyncio.create_task(bystander(ready, over))
        with gv.record() as rec:
            ready.set()
            a.exp()
            await asyncio.gather(child(), asyncio.create_task(child()))
            await over.wait()
        late = asyncio.create_task(child())
        await asyncio.gather(other, late)
        return rec

    rec = asyncio.run(main())
    assert sorted(functions(rec)) == ["cos", "cos", "exp", "sin", "sin"]
    (note,) = rec.notes
    assert note.startswith("not recorded: 1 call that other asyncio tasks")


def test_a_task_that_is_cancelled_ends_its_own_recording():
    a = torch.ones(2, requires_grad=True)
    recs = {}

    async def work(name, calls):
        with gv.record() as recs[name]:
            for _ in range(calls):
                a.exp()
                await asyncio.sleep(0)
            await asyncio.sleep(60 if name == "first" else 0)

    async def main():
        first = asyncio.create_task(work("first", 2))
        second = asyncio.create_task(work("second", 8))
        await asyncio.sleep(0.01)
        first.cancel()
        await asyncio.wait([first, second])

    asyncio.run(main())
    assert {name: functions(rec) for name, rec in recs.items()} == {
        "first": ["exp"] * 2,
        "second": ["exp"] * 8,
    }


def test_grad_mode_is_followed_whichever_task_sets_it():
    """``no_grad`` with an await inside reaches other tasks: torch keeps one grad mode a thread."""

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    a = torch.ones(2, requires_grad=True)

    async def switch(off, on):
        with torch.no_grad():
            off.set()
            await on.wait()

    async def main():
        off, on = asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(switch(off, on))
        with gv.record() as rec:
            await off.wait()
            b = Double.apply(a)
            on.set()
            await task
        return rec, b

    rec, b = asyncio.run(main())
    assert not b.requires_grad
    assert [(c.function, c.grad_mode) for c in rec.graph.calls] == [("Double.apply", False)]


# --- generators and threads -----------------------------------------------------------------------


def recording_steps(kept, a):
    with gv.record() as rec:
        kept.append(rec)
        a.exp()
        yield
        a.sin()


def test_a_generator_that_is_closed_while_another_recording_stands_above_it():
    a, kept = torch.ones(2, requires_grad=True), []
    generator = recording_steps(kept, a)
    next(generator)
    with gv.record() as rec:
        a.cos()
        generator.close()
        a.tanh()
    assert functions(rec) == ["cos", "tanh"]
    assert functions(kept[0]) == ["exp", "cos"]


def test_a_generator_collected_on_another_thread_ends_its_recording(recwarn):
    a, kept = torch.ones(2, requires_grad=True), []
    generator = recording_steps(kept, a)
    next(generator)
    box = [generator]
    del generator
    thread = threading.Thread(target=box.clear)
    thread.start()
    thread.join()
    a.cos()
    rec = kept[0]
    assert functions(rec) == ["exp"]
    assert ["by another thread" in note for note in rec.notes] == [True]
    assert [str(w.message) for w in recwarn] == []  # an error in __exit__ could not be raised there
    # Its mode is silent, and the next recording on this thread takes it away.
    with gv.record() as after:
        assert [type(m) for m in _get_current_function_mode_stack()] == [Recorder]
        a.tan()
    assert functions(after) == ["tan"]
    assert functions(rec) == ["exp"]


def test_recordings_that_end_on_another_thread_leave_one_mark_at_most():
    from gradviz.watch.recorder import _marks

    before = len(_marks.get())
    for _ in range(5):
        rec = gv.record()
        rec.__enter__()
        thread = threading.Thread(target=rec.__exit__, args=(None, None, None))
        thread.start()
        thread.join()
        assert len(_marks.get()) <= before + 1
    with gv.record():
        assert len(_marks.get()) <= before + 1
    assert len(_marks.get()) <= before


def test_a_recording_that_ends_inside_a_call_that_it_records():
    a, kept = torch.ones(2, requires_grad=True), []
    generator = recording_steps(kept, a)
    next(generator)
    b = a * 2
    b.register_hook(lambda g: generator.close())
    b.sum().backward()
    a.cos()
    before = functions(kept[0])
    assert before == ["exp", "mul", "register_hook", "sum", "backward"]
    assert a.grad.tolist() == [2.0, 2.0]
    assert kept[0].graph.notes == ()
    with gv.record():
        a.tan()
    assert functions(kept[0]) == before


def test_threads_with_overlapping_recordings():
    a, found = torch.ones(2, requires_grad=True), {}
    turn = threading.Barrier(3)

    def work(name, calls):
        first, second = gv.record(), gv.record()
        first.__enter__()
        turn.wait(10)
        for _ in range(calls):
            a.exp()
        second.__enter__()
        first.__exit__(None, None, None)
        turn.wait(10)
        a.sin()
        second.__exit__(None, None, None)
        found[name] = functions(first), functions(second), len(_get_current_function_mode_stack())

    threads = [threading.Thread(target=work, args=(i, i + 1)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {i: (["exp"] * (i + 1), ["sin"], 0) for i in range(3)}


# --- read from another thread ---------------------------------------------------------------------


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x * 2
        Doubled.pause()
        return y + 0

    @staticmethod
    def backward(ctx, g):
        return g * 2


Doubled.pause = staticmethod(lambda: None)


def busy(rounds):
    a = torch.ones(2, requires_grad=True)
    for _ in range(rounds):
        b = Doubled.apply(a)
        c = b.detach()
        c.add_(1)
        loss = (b * c).sum()
        loss.backward()
    return a


def test_another_thread_reads_a_recording_while_it_goes_on():
    seen, errors, over = [], [], threading.Event()

    def read(rec):
        try:
            while not over.is_set():
                graph = rec.graph
                seen.append((list(graph.events), len(rec.events), len(rec.cuts)))
                rec.at(0)
                rec.living()
                rec.figure()
        except Exception as error:
            errors.append(error)

    with gv.record() as rec:
        threads = [threading.Thread(target=read, args=(rec,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        busy(60)
        over.set()
        for thread in threads:
            thread.join()
    with gv.record() as alone:
        busy(60)
    assert errors == []
    assert len({len(events) for events, *_ in seen}) > 3, "nothing was read while it was going on"
    final = list(rec.events)
    for events, *_ in seen:
        assert events == final[: len(events)]
    assert told(rec.graph) == told(alone.graph)


def test_a_full_log_is_read_from_another_thread():
    errors, over = [], threading.Event()

    def read(rec):
        try:
            while not over.is_set():
                assert len(rec.events) <= 60
        except Exception as error:
            errors.append(error)

    with gv.record(max_events=60) as rec:
        thread = threading.Thread(target=read, args=(rec,))
        thread.start()
        busy(60)
        over.set()
        thread.join()
    assert errors == []


def test_a_reader_does_not_end_the_custom_function_that_is_running():
    inside, read = threading.Event(), threading.Event()
    found = []

    def pause():
        inside.set()
        assert read.wait(10)

    def reader(rec):
        assert inside.wait(10)
        found.append(len(rec.events))
        read.set()

    Doubled.pause = staticmethod(pause)
    try:
        with gv.record() as rec:
            thread = threading.Thread(target=reader, args=(rec,))
            thread.start()
            b = Doubled.apply(torch.ones(2, requires_grad=True))
            thread.join()
    finally:
        Doubled.pause = staticmethod(lambda: None)
    assert found == [1]
    assert functions(rec) == ["ones", "Doubled.apply"]
    assert rec.find(b).gradient_edge is not None
