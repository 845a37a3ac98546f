"""A small farm soak: ./dev test --long runs the large one. See soak/farm_soak.py."""
import os
import pathlib
import subprocess
import sys

from cluster import ROOT

MINKE_ONLY = True


def test_each_case_is_recorded_while_processes_are_killed():
    program = pathlib.Path(__file__).parent / "soak/farm_soak.py"
    done = subprocess.run([sys.executable, program, "--cases", "400", "--kills", "20"], capture_output=True, text=True,
                          env={"MINKE": str(ROOT / "build/minke"), **os.environ}, timeout=800)
    assert done.returncode == 0, done.stdout + done.stderr
