"""The program `motet`."""

import os
import signal
import sys
import sysconfig

from motet import _motet


def main() -> int:
    """Run the program with the arguments of the process."""
    # The program takes over interrupts where it must. What was ignored stays ignored.
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    program, *arguments = sys.argv
    if os.path.basename(program) == "__main__.py":
        # By `python -m motet`: it starts itself again by its script.
        program = os.path.join(sysconfig.get_path("scripts"), "motet")
    return _motet.main([os.path.abspath(program), *arguments])
