import asyncio
import contextlib
import http.client
import json
import logging
import subprocess
import sys

import pytest

from motet.ports import sleep
from motet.service import Fault, Node, Notification, connect, query, service, update


@contextlib.contextmanager
def demonstration(*arguments):
    """The demonstration of the program, a robot in a room: where it is."""
    line = [sys.executable, "-m", "motet", "serve", "--json", "--listen", "127.0.0.1:0"]
    with subprocess.Popen([*line, *arguments], stdout=subprocess.PIPE, text=True) as serving:
        assert serving.stdout is not None
        try:
            yield json.loads(serving.stdout.readline())["url"]
        finally:
            serving.send_signal(2)


@pytest.fixture(scope="module")
def url():
    with demonstration() as url:
        yield url


def test_sem_g456_verbs_are_awaited_and_faults_raised(url):
    async def main():
        drive = connect(url)["/drive"]
        await drive.set_power(left=0.25, right=0.5)
        state, version = await drive.get()
        told = await drive.lookup()
        with pytest.raises(Fault) as unfit:
            await drive.set_power(left="much")
        with pytest.raises(Fault) as stale:
            await drive.call("set_power", {"left": 0, "right": 0}, if_version=version + 7)
        with pytest.raises(Fault) as nobody:
            await connect(url)["/nobody"].get()
        return state, version, told, unfit.value, stale.value, nobody.value

    state, version, told, unfit, stale, nobody = asyncio.run(main())
    assert state == {"commands": version}
    assert told["contract"] == "motet:drive/1"
    assert (unfit.code, stale.code) == ("MessageNotSupported", "PreconditionFailed")
    assert nobody.code == "UnknownService" and "/nobody" in str(nobody)
    places = connect(url)["/source"]
    assert places.make(5).blocking(30) > 0
    with pytest.raises(ValueError, match="no address"):
        connect("drive")
    with pytest.raises(ValueError, match="https"):
        connect(url, token="secret")
    with pytest.raises(ValueError):
        places.make(float("nan"))
    unreachable = connect("http://127.0.0.1:9")["/drive"]
    with pytest.raises(Fault, match="cannot reach"):
        unreachable.set_power(left=0, right=0).blocking(30)


def test_sem_g460_a_node_with_keys_is_called_with_a_token(tmp_path):
    keys = tmp_path / "keys"
    make = [sys.executable, "-m", "motet", "keys", "new", str(keys)]
    subprocess.run(make, check=True, capture_output=True)
    power = {"left": 0.5, "right": 0.5}
    with demonstration("--keys", str(keys)) as url:
        for who, ca in [("admin", keys / "ca.pem"), ("viewer", str(keys / "ca.pem"))]:
            token = (keys / f"{who}.token").read_text().strip()
            drive = connect(url, token=token, ca=ca)["/drive"]
            assert drive.get().blocking(30).state is not None
            if who == "admin":
                drive.set_power(power).blocking(30)
            else:
                with pytest.raises(Fault) as refused:
                    drive.set_power(power).blocking(30)
                assert refused.value.code == "PermissionDenied"
        with pytest.raises(Fault) as nobody:
            connect(url, ca=keys / "ca.pem")["/drive"].get().blocking(30)
        assert nobody.value.code == "Unauthenticated"


@service
class Till:
    def __init__(self):
        self.state = {"cents": 0}
        self.inside = 0

    @query
    def euros(self):
        """What is there."""
        return self.state["cents"] / 100

    @update
    async def deposit(self, cents, times=1):
        self.inside += 1
        assert self.inside == 1
        await sleep(0.001)
        self.state["cents"] += cents * times
        self.inside -= 1
        return self.state["cents"]

    @update
    def take(self, cents):
        if cents > self.state["cents"]:
            raise Fault("PreconditionFailed", f"there are {self.state['cents']}")
        self.state["cents"] -= cents

    @update
    def fail(self):
        raise KeyError("no such coin")


def test_sem_g457_a_class_is_served(caplog):
    async def main(url):
        till = connect(url)["/till"]
        watch, told = till.subscribe(sync=True), []

        async def listen():
            async for notification in watch:
                told.append(notification)

        listening = asyncio.create_task(listen())
        while not told:
            await asyncio.sleep(0.01)
        deposits = [till.deposit(2), till.deposit(cents=4, times=2)]
        await asyncio.gather(*deposits)
        assert await till.euros() == 0.1
        await till.call("deposit", 5, key="receipt 17")
        await till.call("deposit", 5, key="receipt 17")
        codes = []
        for call in (till.take(100), till.fail(), till.deposit(), till.nothing()):
            with pytest.raises(Fault) as raised:
                await call
            codes.append((raised.value.code, raised.value.reason))
        state, version = await till.get()
        await till.drop()
        await asyncio.wait_for(listening, 10)
        return told, codes, state, version

    with Node() as node:
        node.add("/till", Till())
        with caplog.at_level(logging.ERROR, logger="motet"):
            told, codes, state, version = asyncio.run(main(node.url))
    assert state == {"cents": 15} and version == 3
    assert [code for code, _ in codes] == [
        "PreconditionFailed",
        "OperationFailed",
        "MessageNotSupported",
        "ActionNotSupported",
    ]
    assert "KeyError" in codes[1][1] and "deposit, euros, fail, take" in codes[3][1]
    assert [record.name for record in caplog.records] == ["motet"]
    assert told[0] == Notification(0, "replace", {"cents": 0}, False)
    assert [one.event for one in told[1:]] == ["deposit", "deposit", "deposit", "gone"]
    assert told[3].body == 5


def test_an_operation_that_there_is_not_is_not_subscribed_to():
    async def main(url):
        with pytest.raises(Fault) as raised:
            async for _ in connect(url)["/till"].subscribe("nosuch"):
                pass
        return raised.value

    with Node(listen="localhost:0") as node:
        node.add("/till", Till())
        fault = asyncio.run(main(node.url))
        with pytest.raises(Fault, match="not one of its services"):
            connect(node.url)["/"].get().blocking(timeout=10)
        with pytest.raises(ValueError, match="if_version is -1"):
            connect(node.url)["/till"].call("deposit", 5, if_version=-1)
    assert fault.code == "ActionNotSupported"
    assert "deposit" in fault.reason


@service
class Numbers:
    def __init__(self):
        self.state = {"kept": 0}

    @update
    def keep(self, number):
        self.state["kept"] = number
        return number

    @query
    def large(self):
        return 2**64

    @update
    def outgrow(self):
        self.state["kept"] = -(2**63) - 1


def test_sem_g457_integers_keep_their_digits_or_are_refused():
    with Node() as node:
        node.add("/numbers", Numbers())
        numbers = connect(node.url)["/numbers"]
        for whole in (2**64 - 1, -(2**63), 12345678901234567890):
            assert numbers.keep(whole).blocking(30) == whole
            assert numbers.get().blocking(30).state == {"kept": whole}
        # Floats and texts may be long.
        for other in (float(2**70), str(2**70)):
            assert numbers.keep(other).blocking(30) == other
        with pytest.raises(ValueError, match="18446744073709551617 has more than 64 bits"):
            numbers.keep(2**64 + 1)
        with pytest.raises(Fault, match="18446744073709551616 has more than 64 bits"):
            numbers.large().blocking(30)
        with pytest.raises(Fault, match="the state of the service does not fit"):
            numbers.outgrow().blocking(30)


def test_what_is_no_service_is_refused():
    with Node() as node:
        node.add("/till", Till())
        with pytest.raises(TypeError, match="@service"):
            node.add("/number", 7)
        with pytest.raises(Exception, match="till"):
            node.add("/till", Till())
    with pytest.raises(Exception, match="closed"):
        node.add("/other", Till())
    with pytest.raises(ValueError, match="listen"):
        Node(listen="here")
    with pytest.raises(TypeError, match="no operation"):
        service(type("Empty", (), {}))
    for name, why in [("get", "every"), ("patch_json", "every"), ("_own", "no underscore")]:
        with pytest.raises(TypeError, match=f"Taken.{name}: .*{why}"):
            service(type("Taken", (), {name: query(lambda self: 1)}))
    with pytest.raises(ValueError, match="no fault"):
        Fault("Oops", "there is no such code")


def test_numbers_of_threads_that_cannot_be_are_refused():
    for threads in (-1, 65_537):
        with pytest.raises(ValueError, match=f"threads is {threads}"):
            Node(threads=threads)


def test_paths_and_addresses_that_do_not_fit_are_refused_with_advice():
    with Node() as node:
        for use in (lambda: connect(node.url)["base"], lambda: node.add("base", Till())):
            with pytest.raises(ValueError, match="begins with a slash, as '/base'"):
                use()
        for use in (lambda: connect(node.url)[3], lambda: node.add(3, Till())):
            with pytest.raises(TypeError, match="the path is 3: it must be a text"):
                use()
        with pytest.raises(Exception, match="answers at /metrics itself"):
            node.add("/metrics", Till())
    with pytest.raises(ValueError, match="127.0.0.1:0") as raised:
        Node(listen="0.0.0.0:0")
    assert "--keys" not in str(raised.value)


@service
class Shop:
    def __init__(self):
        self.state = {}

    @query
    def price(self, item):
        try:
            return self.state[item]
        except KeyError as missing:
            raise Fault("UnknownEntry", missing, retry_after=0.25) from None


def test_sem_g544_a_reason_that_is_no_text_is_told_as_one():
    with Node() as node:
        node.add("/shop", Shop())
        with pytest.raises(Fault) as told:
            connect(node.url)["/shop"].price("hat").blocking(30)
    assert (told.value.code, told.value.retry_after) == ("UnknownEntry", 0.25)
    assert told.value.reason == "'hat'"
    for never in (-1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="retry_after"):
            Fault("Gone", "no more", retry_after=never)


def test_sem_g456_a_call_is_awaited_by_one_task():
    async def main(url):
        call = connect(url)["/till"].deposit(40)

        async def waits():
            return await call

        both = asyncio.gather(waits(), waits(), return_exceptions=True)
        first, second = await asyncio.wait_for(both, 60)
        with pytest.raises(RuntimeError, match="awaited once"):
            call.blocking(60)
        return first, second

    with Node() as node:
        node.add("/till", Till())
        first, second = asyncio.run(main(node.url))
    assert first == 40
    assert isinstance(second, RuntimeError) and "awaited once" in str(second)


def test_sem_g456_a_call_that_nobody_waits_for_warns():
    with Node() as node:
        node.add("/till", Till())
        till = connect(node.url)["/till"]
        with pytest.warns(RuntimeWarning, match="neither awaited nor blocked for"):
            till.deposit(40)
        assert till.get().blocking(60).state["cents"] in (0, 40)


@service
class Turns:
    """Asks itself, by the network."""

    def __init__(self, url):
        self.state, self.url = {"turns": 0}, url

    @update
    async def turn(self):
        return await connect(self.url)["/turns"].turn()


def test_sem_g381_a_service_that_waits_for_itself_by_the_network_is_told():
    with Node() as node:
        node.add("/turns", Turns(node.url))
        with pytest.raises(Fault) as raised:
            connect(node.url)["/turns"].turn().blocking(60)
        assert raised.value.code == "SelfCall"


def test_sem_g529_an_operation_is_called_by_post():
    with Node() as node:
        node.add("/till", Till())
        for path, methods in [("/till/-/deposit", "POST"), ("/till/-/save", "")]:
            asking = http.client.HTTPConnection(node.url.removeprefix("http://"), timeout=60)
            with contextlib.closing(asking):
                asking.request("GET", path)
                answer = asking.getresponse()
                assert (answer.status, answer.getheader("Allow")) == (405, methods)


def test_sem_g457_lookup_lists_the_operations_of_a_class():
    with Node() as node:
        node.add("/till", Till())
        till = connect(node.url)["/till"]
        told = till.lookup().blocking(30)
    listed = {one["name"]: (one["verb"], one["group"], one["about"]) for one in told["operations"]}
    assert listed["euros"] == ("query", "concurrent", "What is there.")
    assert listed["deposit"] == ("update", "exclusive", "")
    assert list(listed) == ["deposit", "euros", "fail", "take"]


def test_sem_g441_what_the_description_says_of_the_operations_of_a_class_holds():
    with Node() as node:
        node.add("/till", Till())

        def asked(method, path):
            asking = http.client.HTTPConnection(node.url.removeprefix("http://"), timeout=60)
            with contextlib.closing(asking):
                asking.request(method, path)
                answer = asking.getresponse()
                return answer.status, json.loads(answer.read())

        paths = asked("GET", "/openapi.json")[1]["paths"]
        described = {name: sorted(paths[f"/till/-/{name}"]) for name in ("euros", "deposit")}
        assert described == {"euros": ["get", "post"], "deposit": ["post"]}
        assert [asked(method, "/till/-/euros") for method in ("GET", "POST")] == [(200, 0.0)] * 2
