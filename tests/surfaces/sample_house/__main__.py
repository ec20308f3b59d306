from __future__ import annotations

import os
import sys

from minutebook.surfaces.cli.program import run
from sample_house import program

sys.exit(run(program(), sys.argv[1:], os.environ))
