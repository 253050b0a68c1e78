"""The lines for a shell in the guide are run, each page in a folder of its own."""

import contextlib
import os
import re
import shlex
import socket
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "guide"

# What is not run, and why.
NOT_RUN = {
    'pip install "./python[plot,sklearn,frames,progress,mpi]"': "installs what is tested",
    "tar -xzf motet-0.1.0-x86_64-unknown-linux-musl.tar.gz": "of a release",
    "motet-0.1.0-x86_64-unknown-linux-musl/motet doctor": "of a release",
}

SCRIPT = """
import sys
from motet.mpi4py import MPI
# In one piece: others write, too.
sys.stdout.write(f"{MPI.COMM_WORLD.allreduce(1)} ranks\\n")
"""


def blocks(page, kind):
    found = re.findall(rf"^```{kind}\n(.*?)^```", (GUIDE / page).read_text(), re.M | re.S)
    assert found, f"{page} has no block of {kind}"
    return found


def run(lines, place):
    """Run lines one after the other; what they have written. A line that ends in & goes on."""
    scripts = sysconfig.get_path("scripts")
    path = os.pathsep.join([scripts, str(Path(sys.executable).parent), os.environ["PATH"]])
    library = os.environ.get("MOTET_MPI", "").split(os.pathsep)[0]
    env = {**os.environ, "PATH": path, "MOTET_MPI_LIB": library}
    said = []
    with contextlib.ExitStack() as servers:
        for line in lines:
            words = shlex.split(line, comments=True)
            if words[-1] != "&":
                done = subprocess.run(
                    words, cwd=place, env=env, capture_output=True, text=True, timeout=120
                )
                assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
                said.append(done.stdout)
                continue
            server = subprocess.Popen(words[:-1], cwd=place, env=env, stdout=subprocess.DEVNULL)
            servers.callback(server.wait, 60)
            servers.callback(server.terminate)
            if "--listen" in words:
                answers(words[words.index("--listen") + 1], server)
    return said


def answers(address, server):
    port = int(address.rpartition(":")[2])
    until = time.monotonic() + 60
    while server.poll() is None and time.monotonic() < until:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
    raise AssertionError(f"nobody answers at {address}")


def test_all_lines_for_a_shell_are_run_or_named():
    pages = {page.name for page in GUIDE.glob("*.md") if "\n```sh\n" in page.read_text()}
    assert pages == {"install.md", "ranks.md", "services.md"}
    lines = [line for block in blocks("install.md", "sh") for line in block.splitlines()]
    assert lines == list(NOT_RUN)


@pytest.mark.skipif("MOTET_MPI" not in os.environ, reason="MOTET_MPI names no MPI library")
def test_a_script_for_mpi4py_is_run_as_the_guide_says(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    (block,) = blocks("ranks.md", "sh")
    alone, together = run(block.splitlines(), tmp_path)
    assert alone == "1 ranks\n"
    assert together.count("4 ranks") == 4


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


def test_a_service_is_suspended_as_the_guide_says(tmp_path):
    (block,) = (block for block in blocks("services.md", "sh") if "suspend" in block)
    address = f"127.0.0.1:{free_port()}"
    # The node of the guide is the one that is served when nothing is said.
    calls = re.sub(r"motet call \S+ ?(?=[a-z])\S*", rf"\g<0> --url http://{address}", block)
    said = run([f"motet serve --listen {address} &", *calls.splitlines()], tmp_path)
    suspended, held, stepped, resumed = (text.strip() for text in said)
    assert suspended == "null"
    assert '"/drive"' in held
    # The call may not have come yet.
    assert int(stepped) + int(resumed) <= 1, said


def test_a_node_with_keys_is_run_as_the_guide_says(tmp_path):
    manifests = [block for block in blocks("services.md", "toml") if "[[service]]" in block]
    # The other one says all that a manifest may.
    (manifest,) = (block for block in manifests if "drive.json" not in block)
    (tmp_path / "house.toml").write_text(manifest)
    lines = "".join(block for block in blocks("services.md", "sh") if "suspend" not in block)
    # The only names that are of no machine here, and a port that may be taken.
    lines = lines.replace("robot.example", "localhost").replace("50000", str(free_port()))
    said = run(lines.splitlines(), tmp_path)
    states = [text for text in said if '"commands"' in text]
    assert len(states) == 2, said
