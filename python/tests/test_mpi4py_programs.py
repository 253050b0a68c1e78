"""mpi4py's names: whole programs, alone, on processes, and beside mpi4py itself."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest

NEEDS_MPI = pytest.mark.skipif("MOTET_MPI" not in os.environ, reason="MOTET_MPI names no library")


def script(tmp_path, text):
    program = tmp_path / "script.py"
    program.write_text(text)
    return str(program)


def launched(program, count=2, library=None, python=sys.executable, **options):
    library = library or os.environ["MOTET_MPI"].split(os.pathsep)[0]
    line = [sys.executable, "-m", "motet", "run", "-t", "1", "-m", str(count)]
    line += ["--mpi-lib", library, "--quiet", "--", python, program]
    return subprocess.run(line, capture_output=True, text=True, timeout=120, **options)


def test_sem_g466_a_script_alone_is_a_world_of_one(tmp_path):
    program = script(
        tmp_path,
        "from motet.mpi4py import MPI\n"
        "comm = MPI.COMM_WORLD\n"
        "print(comm.rank, comm.size, comm.allreduce(5), MPI.Is_initialized())\n"
        "MPI.Finalize()\n"
        "print(MPI.Is_finalized())\n"
        "try: comm.barrier()\n"
        "except Exception as error: print(error)\n",
    )
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[:2] == ["0 1 5 True", "True"]
    assert "finalized" in done.stdout.splitlines()[2]


@NEEDS_MPI
def test_sem_g466_a_script_runs_unchanged_on_processes(tmp_path):
    program = script(
        tmp_path,
        "from motet.mpi4py import MPI\n"
        "comm = MPI.COMM_WORLD\n"
        "other = 1 - comm.rank\n"
        "came = comm.sendrecv('x' * (comm.rank + 1), dest=other, source=other)\n"
        "print(f'{comm.rank}:{len(came)}', flush=True)\n",
    )
    for library in os.environ["MOTET_MPI"].split(os.pathsep):
        done = launched(program, library=library)
        assert done.returncode == 0, done.stderr
        # The launcher may put lines of several processes into one.
        assert sorted(re.findall(r"\d:\d", done.stdout)) == ["0:2", "1:1"]


@NEEDS_MPI
def test_sem_g466_what_a_script_raises_ends_the_others(tmp_path):
    program = script(
        tmp_path,
        "from motet.mpi4py import MPI\n"
        "comm = MPI.COMM_WORLD\n"
        "if comm.rank == 0:\n"
        "    raise KeyError('as it was told')\n"
        "comm.recv(source=0)\n",
    )
    done = launched(program)
    assert done.returncode != 0
    assert done.stderr.count("as it was told") >= 1, done.stderr


def test_sem_g466_ctrl_c_ends_a_script_that_waits(tmp_path):
    program = script(
        tmp_path,
        "from motet.mpi4py import MPI\n"
        "print('waits', MPI.COMM_WORLD.rank, flush=True)\n"
        "MPI.COMM_WORLD.recv()\n",
    )
    line = [sys.executable, program]
    run = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert run.stdout is not None and run.stdout.readline() == "waits 0\n"
    time.sleep(0.2)
    run.send_signal(signal.SIGINT)
    _, said = run.communicate(timeout=30)
    assert run.returncode != 0 and "KeyboardInterrupt" in said


REAL = os.path.join(os.path.dirname(__file__), "..", "..", "target", "mpi4py", "real")


@pytest.fixture(scope="module")
def real():
    """An interpreter with mpi4py itself, over MPICH's own library."""
    python = os.path.join(os.path.abspath(REAL), "bin", "python")
    wanted = "import mpi4py, sys; sys.exit(mpi4py.__version__ != '4.1.2')"
    there = os.path.exists(python) and subprocess.run([python, "-c", wanted]).returncode == 0
    if not there:
        subprocess.run([sys.executable, "-m", "venv", os.path.abspath(REAL)], check=False)
        line = [python, "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
        line += ["mpi4py==4.1.2", "mpich==5.0.2"]
        got = subprocess.run(line, capture_output=True, text=True)
        if got.returncode != 0:
            pytest.skip(f"mpi4py cannot be installed: {got.stderr.strip()[-200:]}")
    return python


def beside(real):
    """The environment in which that interpreter has motet too."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


@NEEDS_MPI
def test_sem_g465_motet_refuses_to_start_mpi_beside_mpi4py(tmp_path, real):
    for use in ("MPI.COMM_WORLD.Get_rank()", "__import__('motet.comm').comm.World.current()"):
        program = script(
            tmp_path,
            "from mpi4py import MPI as real\n"
            "assert not hasattr(real, '__motet__')\n"
            "import motet\n"
            "from motet.mpi4py import MPI\n"
            f"try: {use}\n"
            "except motet.MotetError as error: print('refused', error, flush=True)\n",
        )
        done = launched(program, python=real, env=beside(real))
        assert done.stdout.count("refused") == 2, done.stdout + done.stderr
        assert "from motet.mpi4py import MPI" in done.stdout
        assert "libmpi.so" in done.stdout


@NEEDS_MPI
def test_sem_g465_mpi4py_is_not_imported_beside_motets_mpi(tmp_path, real):
    program = script(
        tmp_path,
        "from motet.mpi4py import MPI\n"
        "MPI.COMM_WORLD.barrier()\n"
        "try: import mpi4py.MPI\n"
        "except ImportError as error: print('refused', error, flush=True)\n"
        "MPI.COMM_WORLD.barrier()\n",
    )
    (found,) = pathlib.Path(REAL).absolute().glob("lib/python3*/site-packages")
    env = {**os.environ, "PYTHONPATH": str(found)}
    done = launched(program, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("refused") == 2 and "motet has started MPI" in done.stdout
