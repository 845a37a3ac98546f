"""A small soak of a real Slurm's faults: ./dev test --long runs the large one. See soak/slurm_faults.py."""
import os
import subprocess
import sys

import pytest

from cluster import ROOT
from systems import missing_program

MINKE_ONLY = True
pytestmark = [pytest.mark.xdist_group("on_slurm"),
              pytest.mark.skipif(missing_program() is not None, reason=f"{missing_program()} is not installed")]


def test_nothing_is_lost_or_done_twice_while_slurms_daemons_die():
    done = subprocess.run([sys.executable, ROOT / "tests/soak/slurm_faults.py", "--operations", "40", "--seed", "1"],
                          capture_output=True, text=True, env={"MINKE": str(ROOT / "build/minke"), **os.environ}, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr
