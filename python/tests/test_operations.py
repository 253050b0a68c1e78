"""Which methods of a class are operations of its service."""

import asyncio
import contextlib
import http.client
import json

import numpy
import pytest

from motet._operations import arguments
from motet.service import Fault, Node, connect, query, service, update


@service
class Scale:
    weights: dict = {}

    def __init__(self):
        self.state = {"grams": 0}

    @staticmethod
    @query
    def pounds(grams):
        return grams / 453.59237

    @query
    @classmethod
    def known(cls, name):
        return cls.weights.get(name)

    @classmethod
    @update
    def teach(cls, name, grams):
        cls.weights[name] = grams

    @query
    def path(self):
        return "to the scale"

    @staticmethod
    def hidden():
        return 0


def test_sem_g457_static_methods_and_those_of_a_class_are_operations_when_they_are_marked():
    with Node() as node:
        node.add("/scale", Scale())
        scale = connect(node.url)["/scale"]
        assert scale.pounds(453.59237).blocking(60) == 1
        scale.teach(name="pear", grams=200).blocking(60)
        assert scale.known("pear").blocking(60) == 200
        # What the handle has by itself is called by its name.
        assert scale.path == "/scale" and scale.call("path").blocking(60) == "to the scale"
        with pytest.raises(Fault, match="it has known, path, pounds, teach"):
            scale.hidden().blocking(60)


@service
class Counted:
    def __init__(self):
        self.state = {"sum": numpy.int64(0), "mean": numpy.float32(0.5)}

    @update
    def add(self, number):
        self.state["sum"] += number
        return self.state["sum"] > 3

    @query
    def all(self):
        return numpy.arange(3)


def test_numbers_of_numpy_are_numbers_in_bodies_states_and_answers():
    with Node() as node:
        node.add("/counted", Counted())
        counted = connect(node.url)["/counted"]
        assert counted.add(numpy.uint8(4)).blocking(60) is True
        assert counted.get().blocking(60).state == {"sum": 4, "mean": 0.5}
        with pytest.raises(TypeError, match=r"ndarray is not JSON.*x\.tolist\(\)"):
            counted.add(numpy.arange(3))
        with pytest.raises(Fault, match=r"x\.tolist\(\)"):
            counted.all().blocking(60)
        for wrong in (numpy.float64("nan"), numpy.float32("inf"), numpy.complex64(1), {1, 2}):
            with pytest.raises((TypeError, ValueError), match="JSON"):
                counted.add(wrong)


@service
class Base:
    """Operations of several shapes."""

    def __init__(self):
        self.state = {}

    @query
    def item(self, item):
        return item

    @query
    def fields(self, **fields):
        return fields

    @query
    def one_and_fields(self, one, **fields):
        return [one, fields]

    @query
    def optional(self, item="none"):
        return item

    @query
    def two(self, first, second):
        return [first, second]

    @query
    def with_default(self, a, b=3):
        return [a, b]


class Derived(Base):
    """Marks an operation more, and changes one, without being marked itself."""

    @update
    def extra(self):
        return "extra"

    def optional(self, item="derived"):
        return item


def test_sem_g457_bodies_of_all_shapes_come_as_they_are():
    with Node() as node:
        node.add("/base", Base())
        base = connect(node.url)["/base"]
        for call, answer in [
            (lambda: base.item({}), {}),
            (lambda: base.item([]), []),
            (lambda: base.item(0), 0),
            (lambda: base.item({"other": 1}), {"other": 1}),
            (lambda: base.item(item=1), 1),
            (lambda: base.fields(a=1, b=2), {"a": 1, "b": 2}),
            (lambda: base.fields(), {}),
            (lambda: base.fields({}), {}),
            (lambda: base.one_and_fields(one=1, a=2), [1, {"a": 2}]),
            (lambda: base.one_and_fields({"a": 2}), [{"a": 2}, {}]),
            (lambda: base.optional({}), {}),
            (lambda: base.optional(), "none"),
            (lambda: base.call("optional", {}), "none"),
            (lambda: base.two(first=1, second=2), [1, 2]),
            (lambda: base.two({"first": 1, "second": 2}), [1, 2]),
            # What the caller has said counts, whatever the names in a dictionary.
            (lambda: base.item({"item": 1}), {"item": 1}),
            (lambda: base.item({"item": 1, "x": 2}), {"item": 1, "x": 2}),
            (lambda: base.item(None), None),
            (lambda: base.item(item=None), None),
            (lambda: base.optional(None), None),
            (lambda: base.optional(item={"item": 1}), {"item": 1}),
            (lambda: base.with_default({"a": 1, "b": 2}), [{"a": 1, "b": 2}, 3]),
            (lambda: base.with_default(**{"a": 1, "b": 2}), [1, 2]),
            # The body of a plain request.
            (lambda: base.call("item", {"item": 1}), 1),
            (lambda: base.call("item", {"other": 1}), {"other": 1}),
        ]:
            assert call().blocking(60) == answer
        # A name that the operation has not is no argument of another name.
        for call in (lambda: base.with_default(aa=1), lambda: base.item(itme=1)):
            with pytest.raises(Fault, match="does not fit") as raised:
                call().blocking(60)
            assert raised.value.code == "MessageNotSupported"
        with pytest.raises(TypeError, match=r"two takes one body.*got 2 bodies.*two\(\*\*fields\)"):
            base.two(1, 5)
        with pytest.raises(Fault, match=r"does not fit two\(first, second\)"):
            base.two(1).blocking(60)


def test_sem_g582_a_request_may_say_what_its_body_is():
    with Node() as node:
        node.add("/base", Base())

        def asked(operation, body, **headers):
            asking = http.client.HTTPConnection(node.url.removeprefix("http://"), timeout=60)
            with contextlib.closing(asking):
                headers["Content-Type"] = "application/json"
                asking.request("POST", f"/base/-/{operation}", json.dumps(body), headers)
                answer = asking.getresponse()
                return answer.status, json.loads(answer.read())

        one, fields = {"Motet-Body": "argument"}, {"Motet-Body": "fields"}
        body = {"item": 1}
        assert asked("item", body) == (200, 1)
        assert asked("item", body, **fields) == (200, 1)
        assert asked("item", body, **one) == (200, body)
        # Nobody has said what it is, and the operation has no such name.
        assert asked("with_default", {"aa": 1}) == (200, [{"aa": 1}, 3])
        status, told = asked("with_default", {"aa": 1}, **fields)
        assert status >= 400 and "does not fit with_default(a, b=3)" in told["fault"]["reason"]
        status, told = asked("item", body, **{"Motet-Body": "both"})
        assert status == 400 and "write fields or argument" in json.dumps(told)


@pytest.mark.parametrize(
    ("body", "named", "bound"),
    [
        ({"a": 1}, None, {"a": 1}),
        ({"a": 1}, True, {"a": 1}),
        ({"a": 1}, False, {"a": {"a": 1}}),
        ({"x": 1}, None, {"a": {"x": 1}}),
        ({"x": 1}, True, None),
        ({"x": 1}, False, {"a": {"x": 1}}),
        ({"a": 1, "x": 1}, False, {"a": {"a": 1, "x": 1}}),
        ({"a": 1, "x": 1}, True, None),
        (None, None, None),
        (None, False, {"a": None}),
        ([1], False, {"a": [1]}),
    ],
)
def test_sem_g582_arguments_are_bound_as_the_caller_has_said(body, named, bound):
    def taken(a, b=3):
        pass

    if bound is None:
        with pytest.raises(TypeError, match=r"does not fit taken\(a, b=3\)"):
            arguments(taken, body, named)
    else:
        assert arguments(taken, body, named).arguments == bound


def test_sem_g457_a_class_derived_from_a_service_has_its_own_operations_too():
    with Node() as node:
        node.add("/derived", Derived())
        derived = connect(node.url)["/derived"]
        assert derived.extra().blocking(60) == "extra"
        assert derived.item(3).blocking(60) == 3
        assert derived.optional().blocking(60) == "derived"


@service
class Stock:
    def __init__(self):
        self.state = {"n": 1}

    @update
    def take(self, count):
        self.state["n"] -= count
        if self.state["n"] < 0:
            raise Fault("OperationFailed", "there is not so much")

    @update
    def look(self):
        return self.state["n"]

    @query
    def read(self):
        return self.state["n"]


def test_sem_g385_a_fault_of_python_undoes_nothing_and_tells_the_state():
    async def told(stock):
        events = stock.subscribe(sync=True)
        first = await anext(events)
        with pytest.raises(Fault, match="not so much"):
            await stock.take(3)
        return first, await anext(events)

    with Node() as node:
        node.add("/stock", Stock())
        stock = connect(node.url)["/stock"]
        before = stock.get().blocking(60)
        first, second = asyncio.run(told(stock))
        assert (first.event, first.body) == ("replace", {"n": 1})
        assert (second.event, second.body) == ("replace", {"n": -2})
        after = stock.get().blocking(60)
        assert after.state == {"n": -2} and after.version > before.version


def test_a_change_from_outside_is_seen_after_the_next_update():
    with Node() as node:
        served = Stock()
        node.add("/stock", served)
        stock = connect(node.url)["/stock"]
        served.state["n"] = 5
        assert stock.read().blocking(60) == 5
        assert stock.get().blocking(60).state == {"n": 1}
        assert stock.look().blocking(60) == 5
        assert stock.get().blocking(60).state == {"n": 5}
