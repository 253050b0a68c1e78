import asyncio
import gc
import weakref

import pytest

from motet.ports import Dispatcher, Port, after, choice, interleave, join, receive, receive_several


@pytest.fixture
def dispatcher():
    with Dispatcher(2) as dispatcher:
        yield dispatcher


def it_too(handles):
    return receive(handles.other, handles)


def test_sem_g453_a_guard_may_free_who_waits_for_a_port_of_its_join(dispatcher):
    async def main():
        first, second, pairs = Port(), Port(), Port()

        async def wait():
            return await second.get()

        waits = wait()
        waits.send(None)

        def guard(item):
            # As the garbage collector does, which may come at any time.
            waits.close()
            return True

        pair = join([first.when(guard), second], lambda *pair: pairs.post(pair))
        active = pair.activate(dispatcher.queue())
        first.post("guarded")
        second.post("kept")
        assert await asyncio.wait_for(pairs.get(), 300) == ("guarded", "kept")
        active.cleanup()

    asyncio.run(main())


def test_a_guard_that_has_its_part_is_freed():
    class Wants:
        def __init__(self):
            self.part = Port().when(self)

        def __call__(self, item):
            return True

    wants = Wants()
    gone = weakref.ref(wants)
    del wants
    gc.collect()
    assert gone() is None


def test_an_arbiter_that_is_not_at_work_is_freed_with_its_handlers():
    class Handles:
        def __init__(self, build):
            self.port, self.other = Port(), Port()
            self.arbiter = build(self)

        def __call__(self, *items):
            return True

    for build in (
        lambda it: receive(it.port, it, when=it),
        lambda it: receive_several(it.port, 2, it),
        lambda it: join([it.port, it.other], it),
        lambda it: join([it.port.times(2), it.other], it),
        lambda it: join([it.port.when(it), it.other], print),
        lambda it: join([it.port.when(it).times(2), it.other.times(2)], print),
        lambda it: after(60, it),
        lambda it: choice(receive(it.port, it, once=True), after(60, it)),
        lambda it: interleave(exclusive=[receive(it.port, it)], concurrent=[it_too(it)]),
    ):
        gone = weakref.ref(Handles(build))
        gc.collect()
        assert gone() is None


def test_a_guard_of_two_arbiters_is_kept_while_one_is_there(dispatcher):
    class Wants:
        def __init__(self):
            self.port, self.other = Port(), Port()
            self.part = self.port.when(self)
            self.arbiter = join([self.part, self.other], print)
            self.wanted = "one"

        def __call__(self, item):
            return item == self.wanted

    wants, got = Wants(), Port()
    port, other = wants.port, wants.other
    kept = join([wants.part, other], lambda *both: got.post(both))
    del wants
    gc.collect()
    kept.activate(dispatcher.queue())
    port.post("one")
    other.post("two")
    assert got.get_blocking(60) == ("one", "two")
