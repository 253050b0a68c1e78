"""`python -m motet`: the program."""

import sys

from motet._cli import main

sys.exit(main())
