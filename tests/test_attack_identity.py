"""Whatever the way by which a user's program is started, it is his, with nothing of root's in it; and it does nothing to
processes of root's or of others."""
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest

from cluster import poll
from shared import NEEDS_ROOT

MINKE_ONLY = True
pytestmark = [NEEDS_ROOT, pytest.mark.usefixtures("undisturbed")]

# Writes what it is to the file FACTS.
LOOK = r"""#!/usr/bin/python3
import os, resource
status = dict(line.rstrip("\n").split(":\t", 1) for line in open("/proc/self/status") if ":\t" in line)
open_files = [os.readlink(f"/proc/self/fd/{one}") for one in range(3, 1024) if os.path.lexists(f"/proc/self/fd/{one}")]
with open(os.environ["FACTS"] + ".new", "w") as out:
    for name in ("Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapAmb", "SigBlk", "SigIgn"):
        print(name, status[name].strip(), file=out)
    print("files", [one for one in open_files if not one.endswith("/look")], file=out)
    print("root", os.readlink("/proc/self/root"), file=out)
    print("environment", [name for name in os.environ if name in ("ROOTS_SECRET", "SUDO_USER", "NOTIFY_SOCKET")], file=out)
os.rename(os.environ["FACTS"] + ".new", os.environ["FACTS"])
"""

# Each ends with the program ./look started for the user.
WAYS = {
    "srun": "srun ./look",
    "srun, several tasks": "srun -n 2 -N 2 ./look",
    "srun with a terminal": "script -qec 'srun --pty ./look' /dev/null",
    "sbatch": "sbatch -W look",
    "sbatch --wrap": "sbatch -W --wrap ./look",
    "array": "sbatch -W --array=1-2 look",
    "salloc": "salloc -Q srun ./look",
    "step of a job": "sbatch -W --wrap 'srun ./look'",
    "overlapping step": "sbatch -W --wrap 'srun sleep 5 & srun --overlap ./look'",
    "heterogeneous": "srun -n1 : -n1 ./look",
    "multi-prog": "echo '* ./look' >programs; srun --multi-prog programs",
    "bcast": "srun --bcast=$PWD/sent ./look",
    "task prolog": "srun --task-prolog=$PWD/look true",
    "task epilog": "srun --task-epilog=$PWD/look true",
    "srun's prolog": "srun --prolog=$PWD/look true",
    "srun's epilog": "srun --epilog=$PWD/look true",
    "requeued": "sbatch -W --requeue --wrap '[ $SLURM_RESTART_COUNT ] && exec ./look; scontrol requeue $SLURM_JOB_ID; sleep 60'",
    "log-in environment": "sbatch -W --get-user-env --wrap \"FACTS=$FACTS ./look\"",
    "no environment": "sbatch -W --export=NONE --wrap \"FACTS=$FACTS ./look\"",
}


@pytest.fixture
def look(shared):
    program = shared.bob.script(LOOK, "look")
    program.chmod(0o755)
    return program


@pytest.mark.parametrize("way", WAYS)
def test_a_program_is_its_users_and_has_nothing_of_roots(shared, look, way):
    facts = shared.bob.work / "facts"
    facts.unlink(missing_ok=True)
    done = shared.bob.run("bash", "-c", WAYS[way], env={"FACTS": str(facts)})
    poll(facts.exists, 60, f"the facts ({done.stdout} {done.stderr})")
    told = dict(line.split(" ", 1) for line in facts.read_text().splitlines())
    assert told["Uid"].split() == [str(shared.bob.uid)] * 4
    assert told["Gid"].split() == [str(shared.bob.gid)] * 4
    assert told["Groups"].split() == [str(shared.bob.gid)]
    assert {told[name] for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {"0" * 16}
    # pipes and sockets of its own srun, perhaps, but no file of the cluster's
    assert not re.search(r"journal|\.db|launcher|minked|memfd|mailer|cgroup", told["files"]), told["files"]
    assert (told["root"], told["environment"]) == ("/", "[]")


# What a program of root's would obey if it came to it.
SPY = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((constructor)) static void spy(void) {
  FILE* file = fopen(SPIED, "a");
  if (file) { fprintf(file, "%d\n", geteuid()); fclose(file); }
}
"""


@pytest.fixture(scope="module")
def spy(shared):
    """A library, a shell's start file and programs that note who runs them, and the file that they note it in."""
    work = shared.bob.work
    noted = work / "spied"
    noted.write_text("")
    noted.chmod(0o666)
    (work / "spy.c").write_text(SPY)
    subprocess.run(["cc", "-shared", "-fPIC", f'-DSPIED="{noted}"', "-o", work / "spy.so", work / "spy.c"], check=True)
    (work / "start").write_text(f"id -u >>{noted}\n")
    (work / "path").mkdir()
    for name in ("sh", "bash", "mke2fs", "mount", "umount", "id", "unsquashfs", "tar", "zstd", "tinyproxy", "mail", "sendmail", "env"):
        program = work / "path" / name
        program.write_text(f"#!/bin/bash -p\necho $EUID >>{noted}\nexec /usr/bin/{name} \"$@\"\n")
        program.chmod(0o755)
    (work / "modules").mkdir()
    (work / "modules" / "sitecustomize.py").write_text(f"import os; open('{noted}', 'a').write('%d\\n' % os.geteuid())\n")
    return noted


VARIABLES = {
    "LD_PRELOAD": "{work}/spy.so", "LD_AUDIT": "{work}/spy.so", "LD_LIBRARY_PATH": "{work}", "BASH_ENV": "{work}/start",
    "ENV": "{work}/start", "PATH": "{work}/path:/usr/bin:/bin", "PYTHONPATH": "{work}/modules", "PERL5OPT": "-Mspy",
    "GCONV_PATH": "{work}", "HOME": "{work}/path", "TMPDIR": "{work}", "IFS": "/", "SHELLOPTS": "xtrace",
    "PS4": "$(id -u >>{work}/spied)", "PROMPT_COMMAND": "id -u >>{work}/spied", "MINKE_CONFIG": "{work}/start",
    "MINKE_LAUNCH": "1.0", "SLURM_CONF": "{work}/start", "LOCPATH": "{work}", "MALLOC_CONF": "prof:true",
}


@pytest.mark.parametrize("name", VARIABLES)
def test_a_variable_reaches_no_program_of_roots(shared, spy, name):
    environment = {name: VARIABLES[name].format(work=shared.bob.work)}
    before = {pid: pathlib.Path(f"/proc/{pid}/environ").read_bytes() for pid in (shared.pid(), shared.pid("launcher"))}
    spy.write_text("")
    # The commands have the plain environment; the job has that one.
    line = " ".join(f"{key}='{value}'" for key, value in environment.items())
    export = f"--export=ALL,{name}" if "," not in environment[name] else "--export=ALL"
    commands = shared.environment["PATH"]
    done = shared.bob.run("bash", "-c", f"export {line}; PATH=\"$PATH:{commands}\"; sbatch {export} -W -o out --wrap 'bash -c true; id' "
                          "--mail-type=NONE; srun bash -c true; salloc -Q true")
    del done  # some of these variables break the user's own commands: that is his
    assert set(spy.read_text().split()) <= {str(shared.bob.uid)}
    for pid, environ in before.items():
        assert pathlib.Path(f"/proc/{pid}/environ").read_bytes() == environ


# PID is one of root's: each prints "in" where it came to something.
AGAINST_ROOT = {
    "memory": "head -c1 /proc/$PID/mem", "environment": "head -c1 /proc/$PID/environ | grep -c . ",
    "maps": "[ -s /proc/$PID/maps ] && head -c1 /proc/$PID/maps", "descriptors": "ls /proc/$PID/fd/",
    "a descriptor": "head -c1 /proc/$PID/fd/3", "root": "ls /proc/$PID/root/", "directory": "ls /proc/$PID/cwd/",
    "stack": "head -c1 /proc/$PID/stack", "auxiliary vector": "head -c1 /proc/$PID/auxv | grep -c .",
    "system call": "cat /proc/$PID/syscall", "mount namespace": "nsenter -m -t $PID true",
    "network namespace": "nsenter -n -t $PID true", "user namespace": "nsenter -U -t $PID true",
    "priority": "renice -n 19 -p $PID", "input and output": "ionice -c 3 -p $PID", "processors": "taskset -p 1 $PID",
    "limits": "prlimit --pid $PID --nofile=8:8", "out of memory": "echo 1000 >/proc/$PID/oom_score_adj",
    "stop": "kill -STOP $PID", "continue": "kill -CONT $PID", "end": "kill -TERM $PID", "hang up": "kill -HUP $PID",
    "timer": "chrt -i -p 0 $PID", "name": "echo x >/proc/$PID/comm", "marks": "echo 1 >/proc/$PID/clear_refs",
    "descriptor of a process": "python3 -c 'import ctypes, os, sys; c = ctypes.CDLL(None); p = c.syscall(434, int(sys.argv[1]), 0); "
                               "sys.exit(not any(c.syscall(438, p, n, 0) >= 0 for n in range(32)))' $PID",
    "memory, by a call": "python3 -c 'import ctypes, sys; b = ctypes.create_string_buffer(8); v = (ctypes.c_size_t * 2)(ctypes.addressof(b), 8); "
                         "r = (ctypes.c_size_t * 2)(0x400000, 8); sys.exit(ctypes.CDLL(None).process_vm_readv(int(sys.argv[1]), v, 1, r, 1, 0) < 0)' $PID",
    "seize": "python3 -c 'import ctypes, sys; sys.exit(ctypes.CDLL(None).ptrace(0x4206, int(sys.argv[1]), 0, 0) != 0)' $PID",
}


@pytest.mark.parametrize("attack", AGAINST_ROOT)
def test_a_job_does_nothing_to_processes_of_roots(shared, attack):
    script = "\n".join(f"PID={shared.pid(name)}; {{ {AGAINST_ROOT[attack]}; }} >/dev/null 2>&1 && echo in {name}"
                       for name in ("minked", "launcher"))
    assert shared.bob.run("srun", "bash", "-c", script + "\ntrue", check=0).stdout == ""


# The same against another user's job. What everybody may see of any process is not among them.
@pytest.mark.parametrize("attack", AGAINST_ROOT)
def test_a_job_does_nothing_to_anothers(shared, attack):
    job = shared.alice.submit("echo $$ >pid.new; mv pid.new pid; exec sleep 1000 3</etc/hostname")
    poll((shared.alice.work / "pid").exists)
    pid = int((shared.alice.work / "pid").read_text())
    script = f"PID={pid}; {{ {AGAINST_ROOT[attack]}; }} >/dev/null 2>&1 && echo in\ntrue"
    assert shared.bob.run("srun", "bash", "-c", script, check=0).stdout == ""
    assert shared.alice.state(job) == "RUNNING"
    shared.alice.run("scancel", job, check=0)
    shared.alice.wait_end(job)
    (shared.alice.work / "pid").unlink()


def test_what_is_being_started_cannot_be_looked_into(shared):
    """A child of the launcher's that is already the user's has the launcher's memory until it executes his program."""
    program = """
import os, sys, time
uid, launcher, end = os.getuid(), os.stat(f"/proc/{sys.argv[1]}").st_ino, time.monotonic() + float(sys.argv[2])
tried = 0
while time.monotonic() < end:
    for name in os.listdir("/proc"):
        if not name.isdigit(): continue
        try:
            words = open(f"/proc/{name}/cmdline", "rb").read().split(b"\\0")
            if b"launcher" not in words[1:2] or int(name) == int(sys.argv[1]): continue
            tried += 1
            for what in ("mem", "maps", "environ", "fd/3"):
                if open(f"/proc/{name}/{what}", "rb").read(1): print("in", what, flush=True)
        except (OSError, ValueError): pass
print("looked")
"""
    racer = subprocess.Popen(["python3", "-c", program, str(shared.pid("launcher")), "6"], stdout=subprocess.PIPE, text=True,
                             **shared.bob.rights())
    shared.bob.run("sbatch", "-W", "--array=1-60", "-o", "/dev/null", "--wrap", "true", timeout=60)
    assert racer.communicate()[0] == "looked\n"


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGTTOU], ids=["stopped", "stopped by its terminal"])
def test_a_job_that_stops_itself_ends_when_it_is_cancelled(shared, number):
    job = shared.bob.submit(f"touch there; kill -{int(number)} $$; sleep 1000")
    poll((shared.bob.work / "there").exists)
    began = time.monotonic()
    shared.bob.run("scancel", job, check=0)
    assert shared.bob.wait_end(job)["JobState"] == "CANCELLED"
    assert time.monotonic() - began < 100
    (shared.bob.work / "there").unlink()


def test_a_log_in_shells_start_files_run_as_the_user(shared):
    """--get-user-env starts the user's shell to see what it sets."""
    (shared.bob.work / ".profile").write_text(f"id -u >>{shared.bob.work}/profile\n")
    home = pathlib.Path(shared.bob.entry.pw_dir)
    home.mkdir(parents=True, exist_ok=True)
    os.chown(home, shared.bob.uid, shared.bob.gid)
    (home / ".profile").write_text(f"id -u >>{shared.bob.work}/profile\n")
    for option in ("--get-user-env", "--export=NONE"):
        shared.bob.run("sbatch", "-W", option, "-o", "/dev/null", "--wrap", "true")
    noted = shared.bob.work / "profile"
    assert not noted.exists() or set(noted.read_text().split()) == {str(shared.bob.uid)}


def test_a_triggers_program_is_that_of_whoever_set_it(shared):
    """Operators may set them; root's rights they do not get by it."""
    noted = shared.otto.work / "pulled"
    program = shared.otto.script(f"grep -E '^(Uid|Gid|Groups|CapEff)' /proc/self/status >{noted}.new; mv {noted}.new {noted}", "trigger.sh")
    program.chmod(0o755)
    job = shared.otto.submit("sleep 1")
    shared.otto.run("strigger", "--set", f"--jobid={job}", "--fini", f"--program={program}", check=0)
    poll(noted.exists, 60, "the trigger's program")
    told = dict(line.split(":\t", 1) for line in noted.read_text().splitlines())
    assert told["Uid"].split() == [str(shared.otto.uid)] * 4 and told["Gid"].split() == [str(shared.otto.gid)] * 4
    assert set(told["Groups"].split()) == {str(one) for one in shared.otto.rights()["extra_groups"]}
    assert told["CapEff"].strip() == "0" * 16
