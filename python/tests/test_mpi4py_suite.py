"""mpi4py's own tests, over motet. Its sources are fetched once, and kept in the folder `target`."""

import os
import pathlib
import re
import subprocess
import sys
import tarfile
import time

import pytest

VERSION = "4.1.2"
HERE = pathlib.Path(__file__).parent / "mpi4py"
TARGET = pathlib.Path(__file__).parents[2] / "target" / "mpi4py"
UNSUPPORTED = HERE / "unsupported.txt"
# All of them by `cargo xtask deep`; what the gate leaves out takes longest.
DEEP = os.environ.get("MOTET_DEEP") == "1"

# By module: how many tests there are, and how many of them are unsupported.
MODULES = {
    "test_p2p_obj": (92, 4),
    "test_p2p_obj_matched": (10, 0),
    "test_p2p_buf": (52, 0),
    "test_p2p_buf_matched": (11, 0),
    "test_cco_obj": (40, 0),
    "test_cco_buf": (72, 0),
    "test_cco_vec": (62, 0),
    "test_cco_nb_buf": (70, 0),
    "test_cco_pr_buf": (70, 0),
    "test_cco_ngh_obj": (8, 0),
    "test_cco_ngh_buf": (16, 0),
    "test_comm_topo": (32, 0),
    "test_group": (52, 0),
    "test_status": (11, 0),
    "test_request": (12, 0),
    "test_op": (11, 0),
    "test_util_pkl5": (126, 12),
    "test_win": (100, 0),
    "test_rma": (36, 0),
    "test_rma_nb": (14, 0),
    "test_file": (34, 0),
    "test_io": (55, 0),
}
SLOW_ALONE = {"test_cco_ngh_buf", "test_cco_pr_buf", "test_rma", "test_rma_nb", "test_io"}
SLOW_TOGETHER = SLOW_ALONE | {
    "test_p2p_buf",
    "test_p2p_buf_matched",
    "test_cco_buf",
    "test_cco_vec",
    "test_cco_nb_buf",
}
# Each rank has a copy of the modules, so none that pickles functions of its own.
ON_THREADS = ["test_p2p_obj", "test_p2p_obj_matched", "test_cco_obj", "test_comm_topo"]


def fetched():
    """The folder of mpi4py's sources; tests skip themselves where it cannot be fetched."""
    folder = TARGET / f"mpi4py-{VERSION}"
    if (folder / "test" / "main.py").is_file():
        return folder
    TARGET.mkdir(parents=True, exist_ok=True)
    archive = TARGET / f"mpi4py-{VERSION}.tar.gz"
    if not archive.is_file():
        line = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", "mpi4py"]
        line += ["--dest", str(TARGET), f"mpi4py=={VERSION}"]
        got = subprocess.run(line, capture_output=True, text=True)
        if not archive.is_file():
            pytest.skip(f"the sources of mpi4py cannot be fetched: {got.stderr.strip()[-200:]}")
    with tarfile.open(archive) as packed:
        packed.extractall(TARGET, filter="data")
    return folder


def environment(folder):
    own = {"PYTHONPATH": str(HERE / "shim"), "MPI4PY_SOURCE": str(folder)}
    return {**os.environ, **own, "PYTHONDONTWRITEBYTECODE": "1"}


def chosen(slow):
    left_out = [] if DEEP else [name for name in MODULES if name in slow]
    if left_out:
        print(f"left to `cargo xtask deep`: {' '.join(left_out)}")
    return [name for name in MODULES if name not in left_out]


def run(line, folder, names):
    """Run the tests of modules; what is said, and what each process has counted."""
    listed = "|".join(names)
    line = [*line, "main.py", "--no-builddir", "-i", f"^(.*/)?({listed})\\.py"]
    line += ["--xfile", str(UNSUPPORTED)]
    done = subprocess.run(
        line,
        cwd=folder / "test",
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=900,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said[-8000:]
    return said, [int(count) for count in re.findall(r"Ran (\d+) tests?", said)]


def counted(names):
    return sum(MODULES[name][0] - MODULES[name][1] for name in names)


def test_sem_g461_mpi4pys_tests_pass_in_a_world_of_one():
    folder, begun = fetched(), time.perf_counter()
    names = chosen(SLOW_ALONE)
    said, ran = run([sys.executable], folder, names)
    assert ran == [counted(names)], said[-4000:]
    print(f"{ran[0]} tests in {time.perf_counter() - begun:.1f} s")


@pytest.mark.skipif("MOTET_MPI" not in os.environ, reason="MOTET_MPI names no MPI library")
def test_sem_g462_mpi4pys_tests_pass_on_two_processes():
    folder, begun = fetched(), time.perf_counter()
    names = chosen(SLOW_TOGETHER)
    library = next(
        (path for path in os.environ["MOTET_MPI"].split(os.pathsep) if "mpich" in path), None
    )
    if library is None:
        pytest.skip("MOTET_MPI names no MPICH")
    line = [sys.executable, "-m", "motet", "run", "-t", "1", "-m", "2", "--mpi-lib", library]
    said, ran = run([*line, "--quiet", "--", sys.executable], folder, names)
    # Both processes run them all.
    assert ran == [counted(names)] * 2, said[-4000:]
    print(f"{ran[0]} tests on two processes in {time.perf_counter() - begun:.1f} s")


@pytest.mark.parametrize("ranks", [3])
def test_sem_g463_mpi4pys_tests_pass_on_the_ranks_of_one_process(ranks):
    folder = fetched()
    names = ON_THREADS
    line = [sys.executable, str(HERE / "in_threads.py"), str(ranks), str(folder / "test")]
    done = subprocess.run(
        [*line, str(UNSUPPORTED), *names],
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-8000:]
    ran = [int(count) for count in re.findall(r"ran (\d+) skipped", done.stdout)]
    assert ran == [counted(names)] * ranks, done.stdout


def test_the_list_of_what_is_lacking_names_tests_and_reasons():
    lines = UNSUPPORTED.read_text(encoding="utf-8").splitlines()
    # An empty line would match every test.
    assert lines and all(line.strip() for line in lines)
    assert lines[0].startswith("#") and any(not line.startswith("#") for line in lines)
