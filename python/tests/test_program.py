import signal
import subprocess
import sys

import pytest

import motet
from motet import _cli, _motet


def test_the_package_carries_the_program(tmp_path):
    table = tmp_path / "points.csv"
    table.write_text("x,y\n" + "\n".join(f"{i % 2 * 9 + i % 5 / 10},{i % 3}" for i in range(60)))
    line = [sys.executable, "-m", "motet", "cluster", str(table), "-k", "2", "--json", "--quiet"]
    run = subprocess.run(line, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert '"points": 60' in run.stdout.replace('"points":60', '"points": 60')
    missing = [*line[:4], "none.csv", "-k", "2"]
    wrong = subprocess.run(missing, capture_output=True, text=True, cwd=tmp_path)
    assert wrong.returncode == 2 and "none.csv" in wrong.stderr
    # It is built without the experiments, and says so.
    bench = subprocess.run([*line[:3], "bench", "core", "--quick"], capture_output=True, text=True)
    assert bench.returncode == 2 and "--features bench" in bench.stderr
    version = [*line[:3], "--version"]
    said = subprocess.run(version, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert motet.__version__ in said.stdout


@pytest.mark.parametrize("before", [signal.SIG_IGN, signal.default_int_handler])
def test_sem_g506_an_interrupt_that_was_ignored_stays_ignored(before, monkeypatch):
    monkeypatch.setattr(_motet, "main", lambda arguments: 7)
    own = signal.signal(signal.SIGINT, before)
    try:
        assert _cli.main() == 7
        after = signal.SIG_IGN if before is signal.SIG_IGN else signal.SIG_DFL
        assert signal.getsignal(signal.SIGINT) is after
    finally:
        signal.signal(signal.SIGINT, own)


LAZY = """
import sys, motet
assert {"cluster", "ports", "mpi4py", "MotetError"} <= set(dir(motet))
port = motet.ports.Port()
assert "motet.cluster" not in sys.modules
print(motet.cluster.KMeans(2).fit([[0.0], [9.0]]).labels_.tolist(), motet.mpi4py.MPI.SUM)
try:
    motet.no_such_module
except AttributeError as error:
    print(error)
"""


def test_modules_of_the_package_are_there_when_they_are_named():
    line = [sys.executable, "-c", LAZY]
    done = subprocess.run(line, capture_output=True, text=True, check=True, timeout=120)
    first, second = done.stdout.splitlines()
    assert first == "[0, 1] <Op SUM>" and "no_such_module" in second
