"""Nodes of services end: from which threads, by whom, and who is told."""

import asyncio
import contextlib
import gc
import os
import signal
import subprocess
import sys
import threading
import weakref

import pytest

from motet import MotetError
from motet.comm import World
from motet.ports import Port
from motet.service import Fault, Node, connect, query, service, update


@service
class Kept:
    """Has a state, and gives back what it is given."""

    def __init__(self):
        self.state = {"kept": 0}

    @query
    def item(self, item):
        return item


def test_sem_g457_subscribers_are_told_when_the_node_ends():
    async def main(node):
        told = []
        async for notification in connect(node.url)["/kept"].subscribe(sync=True):
            told.append(notification.event)
            if told == ["replace"]:
                await asyncio.to_thread(node.close)
        return told

    node = Node()
    node.add("/kept", Kept())
    assert asyncio.run(asyncio.wait_for(main(node), 60)) == ["replace", "gone"]


@service
class Ends:
    """Would end its own node."""

    def __init__(self):
        self.state, self.node = None, None

    @update
    def end(self):
        self.node.close()


def test_sem_g517_an_operation_does_not_end_its_own_node():
    ends = Ends()
    with Node() as ends.node:
        ends.node.add("/ends", ends)
        end = connect(ends.node.url)["/ends"]
        for _ in range(2):
            with pytest.raises(Fault, match=r"Node\.close waits .* on another thread") as raised:
                end.end().blocking(60)
            assert raised.value.code == "OperationFailed"


def test_sem_g517_a_rank_ends_a_node():
    node = Node()
    node.add("/kept", Kept())
    kept = connect(node.url)["/kept"]
    assert kept.item(1).blocking(60) == 1
    World.threads(1).run(lambda _: node.close())
    with pytest.raises(Fault):
        kept.item(1).blocking(60)


def test_sem_g517_ctrl_c_ends_the_wait_of_close_and_another_call_waits_on():
    gate, begun, came = Port(), threading.Event(), []

    @service
    class Slow:
        state = None

        @query
        async def waits(self):
            begun.set()
            came.append(await gate.get())

    node = Node()
    node.add("/slow", Slow())
    call = connect(node.url)["/slow"].waits()
    assert begun.wait(60)
    interrupted = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        interrupted.start()
        node.close()
    interrupted.join()
    # The operation goes on until it has ended.
    gate.post("done")
    node.close()
    assert came == ["done"]
    node.close()
    # Its answer may have come too late for the server.
    with contextlib.suppress(Fault):
        assert call.blocking(60) is None


def test_sem_g517_a_node_in_a_cycle_with_what_it_serves_is_freed_and_ends():
    ends = Ends()
    ends.node = Node()
    ends.node.add("/ends", ends)
    ends.node.add("/kept", Kept())
    kept = connect(ends.node.url)["/kept"]
    assert kept.item(1).blocking(60) == 1
    gc.collect()
    assert kept.item(2).blocking(60) == 2, "somebody has the node"
    gone = weakref.ref(ends)
    del ends
    gc.collect()
    assert gone() is None
    with pytest.raises(Fault):
        kept.item(3).blocking(60)


FREED = """
import gc
from motet.service import Fault, Node, connect, query, service

@service
class Kept:
    def __init__(self):
        self.state = None
    @query
    def item(self, item):
        return item

for _ in range(40):
    kept = Kept()
    kept.node = Node()
    kept.node.add("/kept", kept)
    peer = connect(kept.node.url)["/kept"]
    assert peer.item(1).blocking(60) == 1
    calls = [peer.item(2) for _ in range(4)]
    del kept
    gc.collect()
    calls.append(peer.item(3))
    for call in calls:
        try:
            assert call.blocking(60) in (2, 3)
        except Fault:
            pass
print("well")
"""


def test_sem_g517_nothing_is_called_that_the_collector_has_emptied():
    # The process would end by a signal.
    line = [sys.executable, "-c", FREED]
    run = subprocess.run(line, capture_output=True, text=True, timeout=300)
    assert (run.returncode, run.stdout) == (0, "well\n"), run.stderr


def test_sem_g517_a_node_that_was_closed_keeps_nothing_of_what_it_has_served():
    node, kept = Node(), Kept()
    node.add("/kept", kept)
    node.close()
    gone = weakref.ref(kept)
    del kept
    gc.collect()
    assert gone() is None


def test_sem_g517_a_node_that_comes_back_from_the_collector_takes_nothing_to_serve():
    back = []

    class Returns(Kept):
        def __del__(self):
            back.append(self)

    kept = Returns()
    kept.node = Node()
    kept.node.add("/kept", kept)
    peer = connect(kept.node.url)["/kept"]
    assert peer.item(1).blocking(60) == 1
    del kept
    gc.collect()
    (kept,) = back
    with pytest.raises(Fault):
        peer.item(2).blocking(60)
    # The collector would not ask the node once more to begin no call.
    with pytest.raises(MotetError, match="freed.*make another"):
        kept.node.add("/again", kept)
    kept.node.close()
