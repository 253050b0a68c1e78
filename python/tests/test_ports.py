import asyncio
import gc
import signal
import subprocess
import sys
import threading
import time
import weakref

import pytest

from motet.ports import (
    Closed,
    Dispatcher,
    Port,
    PortSet,
    after,
    choice,
    interleave,
    join,
    receive,
    receive_several,
    sleep,
)


@pytest.fixture
def dispatcher():
    with Dispatcher(2) as dispatcher:
        yield dispatcher


def items(port):
    return [port.test() for _ in range(len(port))]


def test_sem_g451_a_port_keeps_items_and_gives_each_once():
    port = Port()
    for item in ("a", None, 3):
        port.post(item)
    assert (len(port), bool(port), port.get_blocking(), port.test("empty")) == (3, True, "a", None)
    assert (port.test(), port.test("empty")) == (3, "empty")
    with pytest.raises(TimeoutError):
        port.get_blocking(timeout=0.01)
    with pytest.raises(ValueError, match="timeout"):
        port.get_blocking(timeout=float("nan"))
    port.post("left")
    port.close()
    assert port.is_closed and "closed" in repr(port)
    with pytest.raises(Closed):
        port.post("late")
    assert port.get_blocking() == "left"
    with pytest.raises(Closed):
        port.get_blocking()
    taken, port = [], Port()
    takers = [threading.Thread(target=lambda: taken.append(port.get_blocking())) for _ in range(4)]
    for taker in takers:
        taker.start()
    # The interpreter is free while they wait.
    for item in range(4):
        port.post(item)
    for taker in takers:
        taker.join(10)
    assert sorted(taken) == [0, 1, 2, 3]


def test_ctrl_c_ends_a_blocking_wait(tmp_path):
    program = "from motet.ports import Port; print('waits', flush=True); Port().get_blocking()"
    line = [sys.executable, "-c", program]
    run = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert run.stdout is not None and run.stdout.readline() == "waits\n"
    time.sleep(0.2)
    run.send_signal(signal.SIGINT)
    _, said = run.communicate(timeout=30)
    assert run.returncode != 0 and "KeyboardInterrupt" in said


GIVES_UP = """
import threading
from motet.ports import Dispatcher, Port, receive

port = Port()

def wants(item):
    # The port is locked, and the interpreter free.
    threading.Event().wait(2)
    return False

with Dispatcher() as dispatcher:
    active = receive(port, print, when=wants).activate(dispatcher.queue())
    poster = threading.Timer(0.5, port.post, ["item"])
    poster.start()
    try:
        came = port.get_blocking(timeout=1)
    except TimeoutError:
        poster.join()
        came = port.test()
    active.cleanup()
print(came)
"""


def test_sem_g451_a_wait_that_is_over_does_not_keep_a_guard_from_the_interpreter():
    # The process would hang.
    line = [sys.executable, "-c", GIVES_UP]
    run = subprocess.run(line, capture_output=True, text=True, timeout=300)
    assert (run.returncode, run.stdout) == (0, "item\n"), run.stderr


def test_sem_g452_ports_are_awaited_on_asyncio():
    async def main():
        port, got = Port(), []
        wait = asyncio.create_task(port.get())
        await asyncio.sleep(0)
        assert not wait.done()
        threading.Thread(target=port.post, args=("from a thread",)).start()
        assert await asyncio.wait_for(wait, 10) == "from a thread"
        # A wait that is given up takes nothing, also when its item has come already.
        given_up = asyncio.create_task(port.get())
        await asyncio.sleep(0.01)
        given_up.cancel()
        port.post("kept")
        with pytest.raises(asyncio.CancelledError):
            await given_up
        assert await port.get() == "kept"
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(port.get(), 0.01)

        def post():
            for item in range(1000):
                port.post(item)
            port.close()

        threading.Thread(target=post).start()
        async for item in port:
            got.append(item)
        with pytest.raises(Closed):
            await port.get()
        many = [Port() for _ in range(100)]
        waits = asyncio.gather(*(one.get() for one in many))
        await asyncio.sleep(0)
        for number, one in enumerate(many):
            one.post(number)
        return got, await asyncio.wait_for(waits, 10)

    for _ in range(2):
        assert asyncio.run(main()) == (list(range(1000)), list(range(100)))


def test_sem_g453_arbiters_take_what_they_say(dispatcher):
    queue, out = dispatcher.queue(), Port()
    numbers, names = Port(), Port()
    receive(numbers, lambda n: out.post(n * n), at_most=1).activate(queue)
    for n in range(5):
        numbers.post(n)
    assert [out.get_blocking(10) for _ in range(5)] == [0, 1, 4, 9, 16]
    # Pairs of what a guard wants, and two at a time.
    evens, wheels = Port(), Port()
    active = join(
        [evens.when(lambda n: n % 2 == 0), names, wheels.times(2)],
        lambda n, name, pair: out.post((n, name, pair)),
    ).activate(queue)
    for n in (1, 2):
        evens.post(n)
    names.post("Ada")
    wheels.post("left")
    dispatcher.wait_idle()
    assert len(out) == 0 and len(names) == 1, "it waits in its port"
    wheels.post("right")
    assert out.get_blocking(10) == (2, "Ada", ["left", "right"])
    assert active.is_active and evens.test() == 1
    active.cleanup()
    assert not active.is_active
    several = Port()
    receive_several(several, 3, out.post, or_after=0.05).activate(queue)
    for n in range(4):
        several.post(n)
    assert out.get_blocking(10) == [0, 1, 2]
    assert out.get_blocking(10) == [3]
    replies, failures = Port(), Port()
    first = choice(
        receive(replies, lambda reply: out.post(("well", reply)), once=True),
        receive(failures, lambda why: out.post(("badly", why)), once=True),
        after(60, lambda: out.post("late")),
    )
    first.activate(queue)
    with pytest.raises(ValueError, match="at work already"):
        first.activate(queue)
    dispatcher.wait_idle()
    failures.post("broken")
    replies.post("too late")
    assert out.get_blocking(10) == ("badly", "broken")
    dispatcher.wait_idle()
    assert len(replies) == 1 and len(out) == 0
    for wrong, words in [
        (lambda: join([names, names], print), "none twice"),
        (lambda: join([], print), "at least one"),
        (lambda: choice(receive(names, print)), "once=True"),
        (lambda: interleave(teardown=[receive(names, print)]), "once=True"),
        (lambda: names.times(0), "count is 0"),
        (lambda: after(-1, print), "seconds is -1"),
    ]:
        with pytest.raises(ValueError, match=words):
            wrong()


def test_an_arbiter_that_found_no_place_in_another_is_still_there(dispatcher):
    port, other, out = Port(), Port(), Port()
    once, more = receive(port, out.post, once=True), receive(other, out.post)
    for wrong in (
        lambda: choice(once, more),
        lambda: choice(once, once),
        lambda: choice(),
        lambda: interleave(concurrent=[once], teardown=[more]),
        lambda: interleave(exclusive=[once, once]),
        lambda: interleave(concurrent=[once, interleave()]),
    ):
        with pytest.raises(ValueError):
            wrong()
    choice(once).activate(dispatcher.queue())
    more.activate(dispatcher.queue())
    port.post(1)
    other.post(2)
    assert sorted(out.get_blocking(10) for _ in range(2)) == [1, 2]


def test_an_interleave_runs_exclusive_handlers_alone(dispatcher):
    deposits, ask, stop, out = Port(), Port(), Port(), Port()
    state = {"cents": 0, "inside": 0}

    async def deposit(cents):
        state["inside"] += 1
        assert state["inside"] == 1
        before = state["cents"]
        await sleep(0.001)
        state["cents"] = before + cents
        state["inside"] -= 1

    group = interleave(
        exclusive=[receive(deposits, deposit)],
        concurrent=[receive(ask, lambda reply: reply.post(state["cents"]))],
        teardown=[receive(stop, lambda _: out.post("ended"), once=True)],
    )
    active = group.activate(dispatcher.queue())
    for _ in range(20):
        deposits.post(2)
    dispatcher.wait_idle()
    while state["cents"] < 40:
        time.sleep(0.01)
    ask.post(out)
    assert out.get_blocking(10) == 40
    stop.post(None)
    assert out.get_blocking(10) == "ended" and not active.is_active
    deposits.post(1)
    assert len(deposits) == 1


def test_an_item_goes_to_the_port_of_its_type():
    ports = PortSet(int, str, OSError)
    for item in (1, "one", FileNotFoundError("no"), True):
        ports.post(item)
    assert items(ports[int]) == [1, True] and items(ports[str]) == ["one"]
    assert isinstance(ports[OSError].test(), FileNotFoundError)
    with pytest.raises(TypeError, match="ports for int, str, OSError"):
        ports.post(1.5)
    with pytest.raises(ValueError):
        PortSet(int, int)


def test_sem_g452_an_item_does_not_go_to_a_task_of_a_closed_loop():
    port, loop = Port(), asyncio.new_event_loop()
    task = loop.create_task(port.get())
    loop.run_until_complete(asyncio.sleep(0))
    loop.call_exception_handler = lambda _: None  # type: ignore[method-assign]
    loop.close()
    # The task is still there, and never goes on.
    port.post("first")
    assert port.test() == "first" and not task.done()
    gone = weakref.ref(loop)
    del loop, task
    gc.collect()
    assert gone() is None
    port.post("second")
    assert port.get_blocking(30) == "second"


def test_sem_g452_nor_does_it_when_the_loop_is_closed_before_its_turn():
    port, loop = Port(), asyncio.new_event_loop()
    tasks = [loop.create_task(port.get()) for _ in range(2)]
    loop.run_until_complete(asyncio.sleep(0))
    loop.call_exception_handler = lambda _: None  # type: ignore[method-assign]
    # The loop does not run: its tasks are told, and do not get so far.
    port.post("first")
    port.post("second")
    assert port.test() is None
    loop.close()
    assert items(port) == ["first", "second"]
    assert not any(task.done() for task in tasks)


def test_sem_g452_a_loop_is_freed_with_its_tasks():
    port, loop = Port(), asyncio.new_event_loop()
    loop.create_task(port.get())
    loop.run_until_complete(asyncio.sleep(0))
    loop.call_exception_handler = lambda _: None  # type: ignore[method-assign]
    loop.close()
    gone = weakref.ref(loop)
    del loop
    gc.collect()
    assert gone() is None
    port.post("here")
    assert port.test() == "here"


def test_what_is_no_function_is_refused(dispatcher):
    port = Port()
    for wrong in (
        lambda: receive(port, 5),
        lambda: receive(port, print, when=5),
        lambda: receive_several(port, 2, None),
        lambda: join([port], "a"),
        lambda: after(1, 5),
        lambda: port.when(5),
        lambda: dispatcher.queue().enqueue(5),
    ):
        with pytest.raises(TypeError, match="it must be a function"):
            wrong()
