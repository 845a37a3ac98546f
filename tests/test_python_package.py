"""The Python package `minke` (python/) on Minke. tests/differential/test_package_on_slurm.py asks real Slurms the same."""
import random
import signal
import subprocess
import sys
import textwrap

import pytest

from cluster import ROOT, poll
from processes import open_files, waits_in

sys.path.insert(0, str(ROOT / "python"))
from minke import _options as options, _states as states
from minke._folder import Folder, own_file
from minke._errors import Error, JobLost, JobOutOfMemory, error_of_state

MINKE_ONLY = True
# What tests/package_tour.py prints, part by part.
TOUR = {
    "functions": "sum 5 COMPLETED adding 2 3\npair 2\nraised ValueError('on purpose') True\n",
    "commands": "command it says yes\nfailed JobFailed FAILED 3:0 True True\nscript script argument\nrefused True\n",
    "arrays": "map [10, 11, 12, 13]\narray ['task 1', 'task 3', 'task 5'] {'COMPLETED': 3}\nafter 2 JobCancelled\n",
    "ends": "state RUNNING\ncancelled JobCancelled\nwaits PENDING True\ncancelled JobCancelled\n",
    "executor": "executor [1, 2, 3, 4, 5] there\nfuture True True\n",
    "keys": "key True once True None\nby number 6\narray True [1, 2, 3]\n",
}
# Its sbatch is accepted, but the program dies before it hears of it.
KILLED = """
import os
import signal
import sys

import minke
import minke._cluster


def seven():
    return 7


def die(*arguments):
    minke._submission.send(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    if sys.argv[1] == "die":
        minke._cluster.send = die
    cluster = minke.Cluster(period=0.5, grace=1)
    print("found", cluster.submit(seven, key="seven", job_name="seven", time=5).result(120))
"""


class Site:
    """A user who has the package."""

    def __init__(self, cluster):
        self.cluster = cluster
        without = cluster.directory / "without"  # whatever this machine has
        without.mkdir()
        (without / "cloudpickle.py").write_text("raise ImportError\n")
        cluster.environment |= {"PYTHONPATH": f"{without}:{ROOT / 'python'}", "MINKE_JOBS_DIR": str(cluster.work / "jobs"),
                                "PYTHONDONTWRITEBYTECODE": "1"}

    def run(self, text: str, *arguments, code: int = 0) -> str:
        path = self.cluster.work / "program.py"
        path.write_text(textwrap.dedent(text))
        done = self.cluster.run("/usr/bin/python3", path, *arguments, timeout=120)
        assert done.returncode == code, f"{done.stdout}\n{done.stderr}"
        return done.stdout


@pytest.fixture
def site(cluster):
    return Site(cluster)


@pytest.mark.parametrize("part", list(TOUR))
def test_what_a_program_sees(site, part):
    assert site.run((ROOT / "tests/package_tour.py").read_text(), part) == TOUR[part]


def test_a_killed_program_finds_its_jobs_again(site):
    assert site.run(KILLED, "die", code=-signal.SIGKILL) == ""
    assert site.run(KILLED, "again") == "found 7\n"
    assert len(site.cluster.queue("--states=all", "-n", "seven")) == 1


def test_a_program_that_is_killed_again_and_again_submits_each_job_once(site):
    program = site.cluster.work / "program.py"
    program.write_text(textwrap.dedent("""
        import minke
        jobs = [minke.submit(":", key=f"job {n}", job_name=f"once-{n}") for n in range(12)]
        minke.wait(jobs)
        print([job.state for job in jobs].count("COMPLETED"))
        """))
    site.cluster.run("minke", "up", check=0)
    dice = random.Random(7)
    for _ in range(8):
        one = site.cluster.start("/usr/bin/python3", program)
        try:
            one.communicate(timeout=dice.uniform(0.05, 0.35))
        except subprocess.TimeoutExpired:
            one.kill()
            one.communicate()
    assert site.cluster.run("/usr/bin/python3", program, check=0).stdout == "12\n"
    names = site.cluster.queue("--states=all", format="%j")
    assert sorted(names) == sorted(f"once-{n}" for n in range(12))


def test_a_submission_under_way_is_waited_for(site):
    """The program is killed while its sbatch still runs: who comes again waits for that sbatch, and finds its job."""
    slow = site.cluster.work / "slow"
    slow.mkdir()
    real = site.cluster.run("sh", "-c", "command -v sbatch").stdout.strip()
    (slow / "sbatch").write_text(f'#!/bin/sh\ntouch "$PWD/sends"\nuntil [ -e "$PWD/go" ]; do :; done\nexec {real} "$@"\n')
    (slow / "sbatch").chmod(0o755)
    program = site.cluster.work / "program.py"
    program.write_text(KILLED)
    environment = site.cluster.environment | {"PATH": f"{slow}:{site.cluster.environment['PATH']}"}
    first = subprocess.Popen(["/usr/bin/python3", program, "wait"], env=environment, cwd=site.cluster.work)
    poll((site.cluster.work / "sends").exists)
    first.kill()
    first.wait()
    second = site.cluster.start("/usr/bin/python3", program, "again")
    poll(lambda: "lock" in waits_in(second.pid) or second.poll() is not None
         or any("lock" in file for file in open_files(second.pid)))
    (site.cluster.work / "go").touch()
    out, err = second.communicate(timeout=60)
    assert out == "found 7\n", err
    assert len(site.cluster.queue("--states=all", "-n", "seven")) == 1


def test_an_answer_that_is_lost_submits_nothing_twice(site):
    """sbatch says that slurmctld did not answer, though the job was accepted; squeue gets no answer for a while, either."""
    front = site.cluster.work / "front"
    front.mkdir()
    real = site.cluster.run("sh", "-c", "command -v sbatch").stdout.strip()
    (front / "sbatch").write_text(f'#!/bin/sh\n[ -e "$PWD/lost" ] || {{ touch "$PWD/lost"; {real} "$@" >/dev/null; '
                                  'echo "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation" >&2; exit 1; }\n'
                                  f'exec {real} "$@"\n')
    real = site.cluster.run("sh", "-c", "command -v squeue").stdout.strip()
    (front / "squeue").write_text('#!/bin/sh\necho >>"$PWD/asked"; [ $(wc -l <"$PWD/asked") -gt 2 ] || '
                                  '{ echo "slurm_load_jobs error: Unable to contact slurm controller" >&2; exit 1; }\n'
                                  f'exec {real} "$@"\n')
    for one in ("sbatch", "squeue"):
        (front / one).chmod(0o755)
    site.cluster.environment["PATH"] = f"{front}:{site.cluster.environment['PATH']}"
    assert site.run('import minke\nprint(minke.submit("echo once").result(60))') == "once\n\n"
    assert len(site.cluster.queue("--states=all")) == 1


def test_one_question_for_all_jobs_and_one_in_a_period(site):
    out = site.run("""
        import minke
        cluster = minke.Cluster(period=3600)
        gate = cluster.submit("true", hold=True)
        script = __import__("pathlib").Path("job.sh")
        script.write_text("#!/bin/sh\\n")
        jobs = [cluster.submit(script, dependency=gate) for _ in range(10)]
        print(cluster.wait(jobs, timeout=0.5).waiting == jobs, cluster.watch.queries)
        cluster.states(jobs)
        print(cluster.watch.queries)
        cluster.cancel([gate, *jobs])
        cluster.watch.asked = -1e9
        print(len(cluster.wait(jobs).done), cluster.watch.queries <= 3)
        """)
    assert out == "True 1\n1\n10 True\n"


def test_results_are_the_users_alone(site):
    out = site.run("""
        import os, stat
        import minke
        job = minke.submit(int, "7")
        print(job.result(60), oct(stat.S_IMODE(os.stat(job.result_file).st_mode)))
        for directory in (job.result_file.parent, job.result_file.parent.parent):
            print(oct(stat.S_IMODE(os.stat(directory).st_mode)))
        again = minke.submit(int, "8").wait(60)
        os.chmod(again.result_file, 0o666)
        try:
            again.result()
        except minke.Error as error:
            print("not read" in str(error))
        """)
    assert out == "7 0o600\n0o700\n0o700\nTrue\n"


def test_the_reason_of_an_end_is_named(site):
    """As squeue tells it: waiting for a time limit takes a minute."""
    front = site.cluster.work / "front"
    front.mkdir()
    (front / "squeue").write_text('#!/bin/sh\ncat "$PWD/answer"\n')
    (front / "squeue").chmod(0o755)
    site.cluster.environment["PATH"] = f"{front}:{site.cluster.environment['PATH']}"
    out = site.run("""
        import pathlib, time
        import minke
        for state, reason in (("TIMEOUT", "TimeLimit"), ("OUT_OF_MEMORY", "OutOfMemory"), ("NODE_FAIL", "NodeDown")):
            cluster = minke.Cluster(period=0.01, grace=0)
            job = cluster.submit(time.sleep, 0, hold=True)
            pathlib.Path("answer").write_text(f"{job.id}|{state}|{reason}|")
            error = job.exception(60)
            print(type(error).__name__, error.state, f"ended {state}" in str(error), reason in str(error), job.log in str(error))
        """)
    assert out == ("JobTimeout TIMEOUT True True True\nJobOutOfMemory OUT_OF_MEMORY True True True\n"
                   "JobLost NODE_FAIL True True True\n")


def test_what_cannot_be_sent_says_so(site):
    out = site.run("""
        import threading
        import minke

        class Odd(Exception):
            def __init__(self, one, two):
                super().__init__(one)

        def odd():
            raise Odd("strange", 2)

        if __name__ == "__main__":
            for call in (lambda: 1, threading.Lock()):
                try:
                    minke.submit(print, call)
                except minke.Error as error:
                    print("cannot be pickled" in str(error))
            error = minke.submit(odd).exception(60)
            print(type(error).__name__, "Odd: strange" in str(error))
            print(type(minke.submit(threading.Lock).exception(60)).__name__)
            with minke.Executor() as executor:
                futures = [executor.submit(int, "1"), executor.submit(print, lambda: 1), executor.submit(int, "2")]
                print([future.exception() is None for future in futures])
        """)
    assert out == "True\nTrue\nRemoteError True\nTypeError\n[True, False, True]\n"


@pytest.mark.machine(nodes=2, cpus=4)
def test_an_executor_makes_arrays_and_leaves_nothing(site):
    out = site.run("""
        import concurrent.futures
        import minke

        def square(n):
            return n * n

        if __name__ == "__main__":
            with minke.Executor(time=5) as executor:
                futures = [executor.submit(square, n) for n in range(12)]
                print(sum(future.result() for future in concurrent.futures.as_completed(futures)))
                print(list(executor.map(square, range(6), chunksize=3)))
                arrays = {future.job.id.partition("_")[0] for future in futures}
                print(len(arrays) < 12)
            executor = minke.Executor(max_workers=1)
            futures = [executor.submit(__import__("time").sleep, 600) for _ in range(3)]
            while not futures[0].running():
                pass
            executor.shutdown(cancel_futures=True)
            print([future.cancelled() for future in futures])
            try:
                executor.submit(square, 1)
            except RuntimeError as error:
                print(error)
        """)
    assert out == "506\n[0, 1, 4, 9, 16, 25]\nTrue\n[True, True, True]\ncannot schedule new futures after shutdown\n"
    poll(lambda: not site.cluster.queue("-t", "PD,R"))
    jobs = site.cluster.work / "jobs"
    assert not [*jobs.rglob("results/*")] and len([*jobs.rglob("*.calls")]) <= 3  # those of the calls that were cancelled


def test_an_executor_with_a_key_goes_on_where_it_was(site):
    program = """
        import os, sys
        import minke

        def work(n):
            open("runs", "a").write(f"{n}\\n")
            return n + 1

        if __name__ == "__main__":
            executor = minke.Executor(key="sweep", time=5)
            futures = [executor.submit(work, n) for n in range(4)]
            if sys.argv[1] == "die":
                [future.result(60) for future in futures[:2]]
                os.kill(os.getpid(), 9)
            print([future.result(60) for future in futures])
            executor.shutdown()
        """
    site.run(program, "die", code=-signal.SIGKILL)
    assert site.run(program, "again") == "[1, 2, 3, 4]\n"
    assert sorted((site.cluster.work / "runs").read_text().split()) == ["0", "1", "2", "3"]


def test_a_job_that_the_cluster_forgot_is_lost(site):
    out = site.run("""
        import minke
        job = minke.Job(minke.default(), "4711", "gone", "script")
        print(type(job.exception(60)).__name__, job.state)
        """)
    assert out == "JobLost LOST\n"
    assert error_of_state("NODE_FAIL") is JobLost and error_of_state("OUT_OF_MEMORY") is JobOutOfMemory


def test_functions_with_cloudpickle_are_sent_by_value(site, tmp_path):
    """Any module of that name that has dumps: the real one need not be installed."""
    (site.cluster.directory / "without/cloudpickle.py").write_text("from pickle import dumps\nprint('used')\n")
    assert site.run("import minke\nprint(minke.submit(int, '7').result(60))") == "used\n7\n"


def test_options_become_words():
    import datetime
    words = options.words_of({"cpus_per_task": 2, "exclusive": True, "hold": False, "time": datetime.timedelta(hours=26), "mail_type": ["END", "FAIL"],
                              "nodes": None})
    assert words == ["--cpus-per-task=2", "--exclusive", "--time=1-02:00:00", "--mail-type=END,FAIL"]
    assert options.dependency_of({"afterok": [1, 2], "afterany": 3}) == "afterok:1:2,afterany:3"
    assert options.dependency_of("singleton") == "singleton" and options.dependency_of([]) is None
    assert options.quoted_key("a b/ü") == "a%20b/%C3%BC"
    for bad in ("", ".x"):
        with pytest.raises(ValueError):
            options.quoted_key(bad)
    assert options.comment_of_script("#!/bin/sh\n#SBATCH --comment='a b' -n 1\n\necho\n#SBATCH --comment=late\n") == "a b"
    assert options.expanded("%x-%A_%a.out", "12_3", "name", "me") == "name-12_3.out"
    assert options.expanded("%N.out", "12", "name", "me") is None


def test_lines_of_the_queue_are_read():
    snapshot = states.read_squeue("12_[3,5-9:2%4]|PENDING|Priority|mine minke-key=k\n12_1|RUNNING|None|minke-key=k\nCLUSTER: x\n7|FAILED|x|(null)\n")
    assert snapshot.find("12_1").state == "RUNNING" and snapshot.find("12_7").state == "PENDING"
    assert snapshot.find("12_6") is None and snapshot.find("7").comment == ""
    assert snapshot.by_comment("minke-key=k") == ["12"] and snapshot.tasks("12") == [1, 3, 5, 7, 9]
    short = states.read_squeue("12_[3,5,...]|PENDING|Priority|\n")
    assert short.find("12_4").state == "PENDING" and short.tasks("12") == []
    assert states.read_sacct("5|CANCELLED by 0|0:15|\n").find("5") == states.Seen("CANCELLED", "by 0", "", "0:15")
    for bad in ("", "x", "1-", "1-5:0"):
        with pytest.raises(ValueError):
            states.tasks_of(bad)


def test_marks_lead_into_the_directory_alone(tmp_path):
    folder, name = Folder.of_mark(tmp_path, ".../../../etc.passwd")
    assert folder.path.parent == tmp_path / "sessions" and name == "passwd"
    own = Folder.of_key(tmp_path, "a/../b")
    found, name = Folder.of_mark(tmp_path, own.mark)
    assert found.path == own.path and own.path.parent == tmp_path / "keys" and name == "0"
    assert Folder.of_mark(tmp_path / "other", own.mark) is None
    link = tmp_path / "link"
    link.symlink_to("/etc/passwd")
    with pytest.raises((OSError, Error)):
        own_file(link)
