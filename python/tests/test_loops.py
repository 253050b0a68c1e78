"""Ports that tasks of asyncio wait for, whose loops end before the tasks do."""

import asyncio
import sys
import threading

from motet.ports import Port


def waiting(port, count=1):
    """Make a loop with tasks that wait, and do not run."""
    loop = asyncio.new_event_loop()
    loop.call_exception_handler = lambda _: None  # type: ignore[method-assign]
    tasks = [loop.create_task(port.get()) for _ in range(count)]
    loop.run_until_complete(asyncio.sleep(0))
    return loop, tasks


def told(port, *items):
    """Make a loop with a task for each item. The loop has told them, and goes no further."""
    loop, tasks = waiting(port, len(items))
    for item in items:
        port.post(item)
    loop.call_soon(loop.stop)
    loop.run_forever()
    assert len(port) == 0 and not any(task.done() for task in tasks)
    return loop, tasks


def items(port):
    return [port.test() for _ in range(len(port))]


def test_sem_g452_an_item_is_kept_when_the_loop_stops_before_its_task_goes_on():
    port = Port()
    loop, tasks = told(port, "first", "second")
    loop.close()
    assert items(port) == ["first", "second"]
    assert not any(task.done() for task in tasks)


def test_sem_g452_items_keep_their_order_when_a_closed_loop_drops_its_tasks():
    port = Port()
    loop, tasks = told(port, "first", "second", "third")
    # From here on the loop alone keeps them.
    tasks.clear()
    loop.close()
    assert items(port) == ["first", "second", "third"]


def test_sem_g452_tasks_that_were_told_go_on_when_the_loop_does():
    port = Port()
    loop, tasks = told(port, "first", "second")
    assert loop.run_until_complete(asyncio.gather(*tasks)) == ["first", "second"]
    loop.close()
    assert len(port) == 0


def test_sem_g452_an_item_is_kept_when_the_loop_is_closed_while_it_is_told():
    port, kept = Port(), []
    loop, tasks = waiting(port)

    def call_soon_threadsafe(turn):
        # As another thread may close it: it was open when it was asked, and keeps the turn.
        loop.close()
        kept.append(turn)

    loop.call_soon_threadsafe = call_soon_threadsafe  # type: ignore[method-assign]
    port.post("first")
    assert len(kept) == 1 and port.test() == "first" and not tasks[0].done()


def test_sem_g452_what_a_closed_loop_was_told_goes_to_the_next_loop():
    port = Port()
    loop, tasks = waiting(port)
    got, ready = [], threading.Event()

    async def other():
        wait = asyncio.create_task(port.get())
        await asyncio.sleep(0)
        ready.set()
        got.append(await asyncio.wait_for(wait, 60))

    thread = threading.Thread(target=lambda: asyncio.run(other()))
    thread.start()
    assert ready.wait(60)
    # The first to wait is the first to be told.
    port.post("first")
    loop.call_soon(loop.stop)
    loop.run_forever()
    assert not got and not tasks[0].done()
    loop.close()
    thread.join(60)
    assert got == ["first"]


def test_sem_g452_a_cancelled_wait_that_was_told_gives_its_item_back():
    async def main():
        port = Port()
        first, second = (asyncio.create_task(port.get()) for _ in range(2))
        await asyncio.sleep(0)
        port.post("kept")
        # The turn of the loop tells the first task; then that is cancelled before it goes on.
        asyncio.get_running_loop().call_soon(first.cancel)
        return await asyncio.gather(first, asyncio.wait_for(second, 60), return_exceptions=True)

    cancelled, got = asyncio.run(main())
    assert isinstance(cancelled, asyncio.CancelledError) and got == "kept"


def test_a_loop_that_could_not_be_told_is_told_with_the_next_item(monkeypatch):
    unheard = []
    monkeypatch.setattr(sys, "unraisablehook", lambda told: unheard.append(told.exc_value))
    port = Port()
    loop, tasks = waiting(port, 2)
    tell = loop.call_soon_threadsafe

    def interrupted(*_):
        loop.call_soon_threadsafe = tell  # type: ignore[method-assign]
        raise KeyboardInterrupt

    loop.call_soon_threadsafe = interrupted  # type: ignore[method-assign]
    port.post("first")
    port.post("second")
    both = asyncio.wait_for(asyncio.gather(*tasks), 60)
    assert loop.run_until_complete(both) == ["first", "second"]
    loop.close()
    assert [type(error) for error in unheard] == [KeyboardInterrupt]
