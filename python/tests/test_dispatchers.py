"""Dispatchers: handlers, what they raise and may call, and how all that ends."""

import asyncio
import logging
import subprocess
import sys
import threading
import warnings

import numpy
import pytest

import motet
from motet.cluster import KMeans
from motet.comm import World
from motet.ports import (
    Dispatcher,
    Port,
    after,
    join,
    receive,
    receive_several,
    sleep,
)
from motet.service import Node, connect, query, service


@pytest.fixture
def dispatcher():
    with Dispatcher(2) as dispatcher:
        yield dispatcher


def test_sem_g454_what_a_handler_raises_is_told(dispatcher, caplog):
    heard, quiet = dispatcher.queue("heard"), dispatcher.queue("quiet")
    exceptions, port = heard.exception_port(), Port()

    def fail(what):
        raise KeyError(what)

    async def fail_later(what):
        await sleep(0.001)
        raise IndexError(what)

    receive(port, fail, once=True).activate(heard)
    port.post("at once")
    raised = exceptions.get_blocking(10)
    assert isinstance(raised, KeyError) and raised.args == ("at once",)
    assert raised.__traceback__ is not None
    receive(port, fail_later, once=True).activate(heard)
    port.post("later")
    assert isinstance(exceptions.get_blocking(10), IndexError)
    with caplog.at_level(logging.ERROR, logger="motet"):
        quiet.enqueue(fail, "nobody hears")
        dispatcher.wait_idle()
    (record,) = caplog.records
    assert record.name == "motet" and "quiet" in record.getMessage()
    assert record.exc_info is not None and record.exc_info[0] is KeyError


def test_sem_g455_async_handlers_are_driven_by_the_dispatcher(dispatcher):
    asks, answers, out = Port(), Port(), Port()

    async def ask(n):
        asks.post(n)
        out.post((n, await answers.get()))

    async def wrong(_):
        await asyncio.sleep(1)

    queue = dispatcher.queue()
    exceptions, starts = queue.exception_port(), Port()
    receive(starts, ask).activate(queue)
    receive(asks, lambda n: answers.post(n + 1), once=True).activate(queue)
    starts.post(41)
    assert out.get_blocking(10) == (41, 42)

    async def late():
        out.post(await answers.get())

    after(0.01, late).activate(queue)
    answers.post("late")
    assert out.get_blocking(10) == "late"
    # More of them wait than there are threads.
    for n in range(100):
        starts.post(n)
    dispatcher.wait_idle()
    for n in range(100):
        answers.post(n)
    assert sorted(out.get_blocking(10)[1] for _ in range(100)) == list(range(100))
    queue.enqueue(wrong, None)
    assert "motet.ports.sleep" in str(exceptions.get_blocking(10))
    # A thread of a dispatcher does not block.
    queue.enqueue(Port().get_blocking)
    assert isinstance(exceptions.get_blocking(10), motet.MotetError)


def test_a_bounded_queue_and_a_closed_dispatcher_refuse(dispatcher):
    queue = dispatcher.queue("small", depth=1)
    queue.suspend()
    queue.enqueue(print)
    with pytest.raises(motet.MotetError):
        queue.enqueue(print)
    queue.resume()
    dispatcher.wait_idle(10)
    dispatcher.close()
    with pytest.raises(motet.MotetError, match="closed"):
        dispatcher.queue()


def test_a_dispatcher_that_is_being_closed_is_waited_for():
    dispatcher, gate, out = Dispatcher(), threading.Event(), []
    dispatcher.queue().enqueue(lambda: (gate.wait(60), out.append("done")))
    for waits in (dispatcher.wait_idle, dispatcher.close, dispatcher.close):
        with pytest.raises(TimeoutError):
            waits(timeout=0.01)
    with pytest.raises(motet.MotetError, match="closed"):
        dispatcher.queue()
    gate.set()
    dispatcher.close()
    assert out == ["done"]
    dispatcher.close()


def test_a_program_that_forgets_its_dispatcher_ends(tmp_path):
    program = (
        "from motet.ports import Dispatcher, Port, receive\n"
        "d, p = Dispatcher(2), Port()\n"
        "receive(p, lambda n: print(f'{n} ', end='', flush=True)).activate(d.queue())\n"
        "for n in range(100): p.post(n)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 0, run.stderr
    assert sorted(map(int, run.stdout.split())) == list(range(100))


def test_a_guard_that_uses_a_port_is_told(dispatcher, capfd):
    port, other, came, told = Port(), Port(), Port(), []

    def guard(_):
        for use in (lambda: other.post(1), port.test, lambda: len(port), port.close):
            with pytest.raises(motet.MotetError) as raised:
                use()
            told.append(str(raised.value))
        return True

    receive(port, came.post, when=guard).activate(dispatcher.queue())
    port.post("wanted")
    assert came.get_blocking(30) == "wanted"
    assert len(told) >= 4 and all("a guard must not use ports" in said for said in told)
    assert other.test() is None and "panicked" not in capfd.readouterr().err


def test_what_waits_is_refused_in_a_handler_with_advice_of_its_own(dispatcher):
    queue = dispatcher.queue()
    exceptions = queue.exception_port()
    for call, words in [
        (dispatcher.close, "Dispatcher.close waits for the handlers"),
        (dispatcher.wait_idle, "Dispatcher.wait_idle waits for the handlers"),
        (Port().get_blocking, "await"),
        (lambda: World.threads(1).run(print), "World.run waits for its ranks"),
    ]:
        queue.enqueue(call)
        raised = exceptions.get_blocking(30)
        assert isinstance(raised, motet.MotetError) and words in str(raised)
    # The dispatcher goes on.
    out = Port()
    queue.enqueue(out.post, 1)
    assert out.get_blocking(30) == 1
    with pytest.raises(motet.MotetError, match="comm.Split"):
        World.threads(1).run(lambda _: World.threads(1).run(print))


def test_sem_g446_a_fit_is_called_in_a_handler_and_in_a_rank(dispatcher):
    rows = numpy.random.default_rng(7).normal(size=(10_000, 2))
    alone, heard, out = KMeans(4).fit(rows).labels_, [], Port()
    queue = dispatcher.queue()
    raised = queue.exception_port()
    for params in ({"n_jobs": 2}, {"callback": heard.append}):

        def labels(_, params=params):
            return KMeans(4, **params).fit(rows).labels_

        queue.enqueue(lambda labels=labels: out.post(labels(None)))
        dispatcher.wait_idle()
        assert raised.test() is None
        numpy.testing.assert_array_equal(out.test(), alone)
        for found in World.threads(2).run(labels):
            numpy.testing.assert_array_equal(found, alone)
    assert heard


def test_sem_g446_a_fit_in_a_rank_ends_with_its_run():
    rows = numpy.random.default_rng(1).normal(size=(100_000, 8))
    begins = threading.Event()

    def main(comm):
        if comm.rank == 0:
            begins.wait(60)
            raise LookupError("no more rows")
        begins.set()
        # By itself it takes hours.
        KMeans(60, n_init=1000, tol=0.0).fit(rows)

    with pytest.raises(LookupError, match="no more rows"):
        World.threads(2).run(main)


def test_who_waits_is_told_in_the_words_of_python(dispatcher):
    orders, parts = Port(), Port()
    join([orders, parts.times(2)], print).activate(dispatcher.queue("assembly"))
    orders.post("bicycle")
    told = dispatcher.why()
    assert "queue 'assembly'" in told and "of objects: 0 there, 2 needed, missing" in told
    assert repr(parts).split(":")[0].removeprefix("<Port") in told
    assert ".rs" not in told and "pyo3" not in told and ",\n" not in told


@service
class Till:
    def __init__(self):
        self.state = {}

    @query
    def euros(self):
        return 2


def test_sem_g451_a_rank_may_wait_for_ports_dispatchers_and_services():
    def main(comm, url):
        asked, out = Port(), Port()
        with Dispatcher() as own:
            receive(asked, out.post, once=True).activate(own.queue())
            asked.post(comm.rank)
            own.wait_idle(60)
        return out.get_blocking(60), connect(url)["/till"].euros().blocking(60), comm.allreduce(1)

    with Node() as node:
        node.add("/till", Till())
        assert World.threads(2).run(main, node.url) == [(0, 2, 2), (1, 2, 2)]


def test_sem_g451_a_rank_that_waits_for_a_port_ends_with_its_run():
    waits = threading.Event()

    def main(comm):
        if comm.rank == 0:
            waits.wait(60)
            raise LookupError("no more rows")
        waits.set()
        Port().get_blocking()

    with pytest.raises(LookupError, match="no more rows"):
        World.threads(2).run(main)


def test_a_name_that_no_thread_can_have_is_refused():
    with pytest.raises(ValueError, match=r"name is 'a\\x00b': a name has no zero byte"):
        Dispatcher(name="a\0b")
    with pytest.raises(TypeError, match="name is 3: it must be a text"):
        Dispatcher(name=3)


def test_sem_g583_handlers_that_have_not_run_are_warned_of():
    ran, rest = Port(), Port()
    with pytest.warns(RuntimeWarning, match="2 handlers have not run.*resume before close"):
        with Dispatcher() as dispatcher:
            queue, other = dispatcher.queue(), dispatcher.queue()
            queue.suspend()
            queue.enqueue(ran.post, 1)
            receive(rest, ran.post).activate(queue)
            rest.post(2)
            other.enqueue(ran.post, 3)
    # What a port had is there again.
    assert (ran.test(), ran.test(), rest.test()) == (3, None, 2)
    dispatcher = Dispatcher()
    dispatcher.queue().suspend()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dispatcher.close()
        dispatcher.close()


def waits(port, dispatcher):
    return {
        "timeout": [
            lambda seconds: port.get_blocking(seconds),
            lambda seconds: dispatcher.wait_idle(seconds),
            lambda seconds: Dispatcher().close(seconds),
        ],
        "or_after": [
            lambda seconds: receive_several(Port(), 2, print, or_after=seconds),
        ],
        "within": [
            lambda seconds: connect("http://127.0.0.1:9")["/a"].call("b", within=seconds),
        ],
        "seconds": [
            lambda seconds: after(seconds, print),
            lambda seconds: asyncio.run(sleep(seconds)),
            lambda seconds: _slept(dispatcher, seconds),
        ],
    }


def _slept(dispatcher, seconds):
    """Sleep in a handler."""
    queue = dispatcher.queue()
    raised, done = queue.exception_port(), Port()

    async def handler():
        await sleep(seconds)
        done.post(None)

    queue.enqueue(handler)
    dispatcher.wait_idle(60)
    error = raised.test()
    if error is not None:
        raise error


@pytest.mark.parametrize(
    ("seconds", "kind", "words"),
    [
        (float("nan"), ValueError, "is nan: it must be seconds, 0 or more"),
        (-1, ValueError, "is -1: it must be seconds, 0 or more"),
        ("1", TypeError, "is '1': it must be a number of seconds"),
        (True, TypeError, "is True: it must be a number of seconds"),
    ],
)
def test_sem_g584_seconds_that_are_none_are_refused_by_their_name(dispatcher, seconds, kind, words):
    port = Port()
    port.post("here")
    for name, calls in waits(port, dispatcher).items():
        for call in calls:
            with pytest.raises(kind, match=f"^{name} {words}"):
                call(seconds)
    assert port.test() == "here"


def test_sem_g584_infinite_seconds_are_no_limit_where_there_may_be_none(dispatcher):
    for seconds in (float("inf"), 1e300, 10**400):
        port = Port()
        port.post("here")
        assert port.get_blocking(seconds) == "here"
        dispatcher.wait_idle(seconds)
        pairs = Port()
        pair = receive_several(port, 2, pairs.post, once=True, or_after=seconds)
        active = pair.activate(dispatcher.queue())
        port.post(1)
        port.post(2)
        assert pairs.get_blocking(60) == [1, 2] and not active.is_active
        with Node() as node:
            node.add("/till", Till())
            till = connect(node.url)["/till"]
            assert till.call("euros", within=seconds).blocking(seconds) == 2
        with pytest.raises(ValueError, match="^seconds is .*below 1e.12"):
            after(seconds, print)
