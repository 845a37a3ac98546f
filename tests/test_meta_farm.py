"""META-Farm's commands: a farm directory runs as it is."""
import os
import re
import signal
import time

import pytest

from cluster import Machine, poll
import processes

MINKE_ONLY = True
pytestmark = pytest.mark.machine(nodes=2, cpus=4)


class Farm:
    """A farm directory in the work directory of a cluster."""

    def __init__(self, cluster, cases: list[str], name: str = "farm", guard: str = "dt_failed=0"):
        self.cluster, self.path = cluster, cluster.work / name
        assert cluster.run("farm_init.run", name, check=0).stdout == "Success!\n"
        for script in ("job_script.sh", "resubmit_script.sh"):
            text = (self.path / script).read_text()
            self.write(script, text.replace("#SBATCH -A Your_account_name\n", "").replace("--mem=4G", "--mem=100M"))
        config = (self.path / "config.h").read_text()
        self.write("config.h", config.replace("dt_failed=5", guard))
        self.write("table.dat", "".join(case + "\n" for case in cases))

    def write(self, name: str, text: str) -> None:
        (self.path / name).write_text(text)

    def read(self, name: str) -> str:
        return (self.path / name).read_text()

    def run(self, *command, check=0, **options):
        done = self.cluster.run(*command, cwd=self.path, **options)
        assert done.returncode == check, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def ended(self, seconds: float = 60) -> None:
        poll(lambda: "All jobs" in (said := self.run("list.run")) or not re.search("PENDING|RUNNING|COMPLETING", said), seconds,
             "the end of the farm")

    def statuses(self) -> dict[str, str]:
        return dict(line.split() for line in self.run("Status.run").splitlines())

    def outputs(self) -> str:
        return "".join(path.read_text() for path in sorted((self.path / "OUTPUT").glob("slurm-*.out")))


def test_the_sample_runs_as_it_is(cluster):
    """farm_init.run's own files, but for the account, and fewer and shorter cases."""
    farm = Farm(cluster, ["sleep 0.01"] * 18)
    said = farm.run("submit.run", "2")
    assert said == ("Submitting 18 cases from table.dat as 2 jobs using META mode\n\nSubmitting the farm as an Array Job\n\n"
                    "Success!\n")
    farm.ended()
    assert farm.statuses() == {str(i): "0" for i in range(1, 19)}
    assert farm.read("table.dat").splitlines()[17] == "18 sleep 0.01"
    jobs = [name.name for name in (farm.path / "STATUSES").iterdir()]
    assert all(re.fullmatch(r"status\.\d+_[12]", name) for name in jobs)
    assert farm.outputs().count("No cases left; exiting.") == 2 and "Case 7:" in farm.outputs()
    assert "Processed cases, globally: 18/18" in farm.run("query.run") and "Done jobs: 2" in farm.run("query.run")
    assert (farm.path / "RUN7").is_dir()


def test_simple_mode_has_a_job_for_each_case(cluster):
    farm = Farm(cluster, ["echo $SLURM_ARRAY_TASK_ID of $METAJOB_ID"] * 3)
    assert "as 3 jobs using SIMPLE mode" in farm.run("submit.run", "-1")
    farm.ended()
    assert farm.outputs().count("Exiting after processing one case (-1 option)") == 3
    assert len(list((farm.path / "STATUSES").iterdir())) == 3


def test_failed_cases_are_run_again(cluster):
    farm = Farm(cluster, ["true", "test -e ../mended", "true", "sh -c 'exit 3'"])
    farm.run("submit.run", "2")
    farm.ended()
    assert farm.statuses() == {"1": "0", "2": "1", "3": "0", "4": "3"}
    assert farm.run("Status.run", "-f").splitlines() == ["1 0", "3 0", "2 1", "4 3"]
    farm.write("mended", "")
    assert "Submitting 2 cases from table.dat_ as 1 jobs using META mode" in farm.run("resubmit.run", "1")
    farm.ended()
    assert farm.statuses() == {"1": "0", "2": "0", "3": "0", "4": "3"}
    assert farm.read("table.dat_") == "2 test -e ../mended\n4 sh -c 'exit 3'\n"
    farm.write("table.dat", farm.read("table.dat").replace("exit 3", "true"))
    farm.run("resubmit.run", "1")
    farm.ended()
    assert farm.run("resubmit.run", "1", check=1) == "No failed/unfinished jobs; nothing to resubmit\n"


def test_a_farm_that_stands_still_goes_on_by_itself(cluster):
    """-auto: two jobs may run, each of which has time for a few cases alone; then final.sh."""
    farm = Farm(cluster, ["true"] * 7)
    farm.write("config.h", farm.read("config.h").replace("NJOBS_MAX=998", "NJOBS_MAX=3"))
    farm.write("final.sh", "#!/bin/bash\n#SBATCH --mem=100M\ncat STATUSES/status.* | wc -l > final\n")
    farm.run("submit.run", "-1", "-auto", "--time=1")
    poll(lambda: (farm.path / "final").exists() and farm.read("final"), 90, "final.sh")
    assert farm.read("final") == "7\n"
    log = farm.read("farm.log")
    assert "Resubmitted 4 cases" in log and "Resubmitted 1 cases" in log and "final.sh is job" in log


def test_what_always_fails_ends_automatic_resubmission(cluster):
    farm = Farm(cluster, ["true", "false"])
    farm.write("final.sh", "#!/bin/bash\ntouch final\n")
    farm.run("submit.run", "1", "-auto")
    said = "Only failed cases left; cannot auto-resubmit; exiting"
    poll(lambda: (farm.path / "farm.log").exists() and said in farm.read("farm.log"), 60, "farm.log")
    assert not (farm.path / "final").exists()


def log_says(farm: Farm, text: str, seconds: float = 90) -> str:
    return poll(lambda: (farm.path / "farm.log").exists() and text in (log := farm.read("farm.log")) and log, seconds, f"{text} in farm.log")


def test_a_case_without_a_status_ends_automatic_resubmission(cluster):
    """Its script is left, or killed, before its last line: the worker's own record counts."""
    farm = Farm(cluster, ["true", "exit 3", "kill -9 $$", "exit 0"])
    farm.run("submit.run", "1", "-auto")
    log_says(farm, "Only failed cases left; cannot auto-resubmit; exiting")
    assert farm.statuses() == {"1": "0"} and not (farm.path / "MISC/run-2").exists()
    said = farm.run("query.run")
    assert "Processed cases, globally: 4/4" in said and "Failed cases: 3" in said
    # By hand they run again.
    farm.write("table.dat", farm.read("table.dat").replace("exit 3", "true").replace("kill -9 $$", "true").replace("exit 0", "true"))
    assert "Submitting 3 cases" in farm.run("resubmit.run", "1")
    farm.ended()
    assert farm.statuses() == {str(i): "0" for i in range(1, 5)}


def test_a_case_that_takes_its_job_with_it_is_not_tried_for_ever(cluster):
    """It kills what runs it, as often as N_failed_max says; then the others have their turn."""
    farm = Farm(cluster, ["kill -9 $PPID", "true"])
    farm.write("config.h", farm.read("config.h").replace("N_failed_max=5", "N_failed_max=2"))
    farm.run("submit.run", "1", "-auto")
    log = log_says(farm, "Only failed cases left; cannot auto-resubmit; exiting")
    assert re.findall(r"Resubmitted \d+", log) == ["Resubmitted 2", "Resubmitted 1"] and farm.statuses() == {"2": "0"}


def test_jobs_that_begin_no_case_are_not_resubmitted_for_ever(cluster):
    farm = Farm(cluster, ["true"])
    farm.write("job_script.sh", farm.read("job_script.sh").replace("task.run", "exit 1"))
    farm.write("config.h", farm.read("config.h").replace("N_failed_max=5", "N_failed_max=2"))
    farm.run("submit.run", "1", "-auto")
    log = log_says(farm, "The last 2 submissions have begun no case: see OUTPUT; cannot auto-resubmit; exiting")
    assert log.count("Resubmitted") == 1


def test_the_guard_stops_a_job_whose_cases_are_all_short(cluster):
    farm = Farm(cluster, ["true"] * 20, guard="dt_failed=30")
    farm.run("submit.run", "1")
    farm.ended()
    assert "Too many failed (very short) cases - exiting" in farm.outputs()
    assert len(farm.statuses()) == 5
    assert "Processed cases, globally: 5/20" in farm.run("query.run")


def test_a_job_starts_no_case_that_it_cannot_end(cluster):
    """task.run in a job that ends in nine seconds, with cases of 0.2 s: it knows how long they take after eight."""
    farm = Farm(cluster, ["sleep 0.2"] * 60)
    farm.run("submit.run", "1", "--hold")
    end = int(time.time()) + 9
    said = farm.run("task.run", env={"SLURM_JOB_ID": "4711", "SLURM_JOB_END_TIME": str(end)})
    assert said.endswith("Not enough runtime left; exiting.\n") and time.time() < end
    assert 8 <= len(farm.statuses()) < 60 and set(farm.statuses().values()) == {"0"}
    assert re.search(r"^cut-off 0 [2-9]\d{5} 8 ", farm.read("MISC/run-1/ledger"), re.M)


def test_whole_nodes_run_many_cases_at_once(cluster):
    farm = Farm(cluster, ["echo start >> ../here; while [ $(wc -l < ../here) -lt 4 ]; do sleep 0.05; done"] * 4)
    farm.write("config.h", farm.read("config.h").replace("WHOLE_NODE=0", "WHOLE_NODE=1").replace("NWHOLE=192", "NWHOLE=4"))
    assert "as 1 jobs using META mode" in farm.run("submit.run", "2")
    farm.ended()
    assert len(farm.statuses()) == 4


def test_jobs_can_be_killed_and_pruned(cluster):
    farm = Farm(cluster, ["sleep 600"] * 40)
    farm.run("submit.run", "-1")
    poll(lambda: "Running jobs: 8" in farm.run("query.run"), 30, "eight running jobs")
    assert "Jobs are still running/queued; cannot resubmit" in farm.run("resubmit.run", "2", check=1)
    assert "kill.run ends them" in farm.run("clean.run", input="yes\n", check=1)
    farm.run("prune.run")
    poll(lambda: "Queued jobs: 0" in farm.run("query.run"), 30, "no queued jobs")
    assert "Running jobs: 8" in farm.run("query.run")
    farm.run("kill.run")
    farm.ended()
    assert farm.run("clean.run", input="no\n", check=1).endswith("Nothing was deleted\n")
    farm.run("clean.run", input="yes\n")
    assert sorted(path.name for path in farm.path.iterdir()) == ["config.h", "job_script.sh", "resubmit_script.sh", "single_case.sh",
                                                                 "table.dat"]
    farm.write("table.dat", "true\n")
    farm.run("submit.run", "1")
    farm.ended()
    assert farm.statuses() == {"1": "0"}


def test_clean_follows_metas_own_link_and_no_other(cluster):
    farm = Farm(cluster, ["true"])
    home = cluster.directory / "elsewhere"
    home.mkdir()
    (home / "kept").touch()
    (farm.path / "TMP").symlink_to(home)
    (farm.path / "STATUSES").mkdir()
    farm.run("clean.run", input="yes\n")
    assert (home / "kept").exists() and not (farm.path / "TMP").is_symlink()


def test_a_lost_job_loses_one_case(cluster):
    """kill -9 of what runs the cases: the other job does the rest, and resubmit.run the lost one."""
    farm = Farm(cluster, ["sleep 600"] + ["sleep 0.05"] * 30)
    farm.run("submit.run", "1")
    worker = poll(lambda: [pid for pid in processes.all_processes() if (processes.command_line(pid) or [""])[0].endswith("task.run")
                           and processes.environment(pid).get("MINKE_HOME") == str(cluster.home)], 30, "the worker")
    poll(lambda: (farm.path / "RUN1").exists(), 30, "the first case")
    os.kill(worker[0], signal.SIGKILL)
    farm.ended()
    farm.write("table.dat", farm.read("table.dat").replace("1 sleep 600", "1 true"))
    farm.run("resubmit.run", "2")
    farm.ended()
    assert farm.statuses() == {str(i): "0" for i in range(1, 32)}


def test_an_edited_table_does_not_change_what_runs(cluster):
    farm = Farm(cluster, ["sleep 1", "echo second", "echo third"])
    farm.run("submit.run", "1")
    farm.write("table.dat", "1 sleep 1\n2 exit 9\n")
    farm.ended()
    assert farm.statuses() == {"1": "0", "2": "0", "3": "0"} and "third" in farm.outputs()


def test_two_submissions_at_once_make_one_farm(cluster):
    farm = Farm(cluster, ["echo $ID >> ../ran; sleep 0.2"] * 12)
    both = [cluster.start("submit.run", "2", cwd=farm.path) for _ in range(4)]
    said = [one.communicate()[0] for one in both]
    assert sorted(one.returncode for one in both) == [0, 1, 1, 1], said
    assert sum("This farm was submitted before" in one for one in said) == 3
    farm.ended()
    assert sorted(farm.read("ran").split(), key=int) == [str(i) for i in range(1, 13)]


def test_a_submission_that_was_killed_is_completed_once(cluster):
    """As if it had been killed when the job was submitted and before that was written down."""
    farm = Farm(cluster, ["echo $ID >> ../ran; sleep 0.1"] * 5)
    farm.run("submit.run", "2")
    run = farm.read("MISC/run-1/run")
    farm.write("MISC/run-1/run", re.sub(r"^(jobs \S+ \S+) \d+$", r"\1 0", run, flags=re.M).replace("submitted 1", "submitted 0"))
    farm.run("submit.run", "2")
    farm.ended()
    assert farm.read("MISC/run-1/run") == run and len(cluster.sacct("-X", "--array")) <= 2
    assert sorted(farm.read("ran").split()) == list("12345")


def test_a_refused_submission_leaves_nothing(cluster):
    farm = Farm(cluster, ["true"])
    done = cluster.run("submit.run", "1", "--partition=nowhere", cwd=farm.path)
    assert done.returncode == 1 and "Something wrong with sbatch farm submission" in done.stdout and "invalid partition" in done.stderr
    farm.run("submit.run", "1")
    farm.ended()


@pytest.mark.parametrize("arguments, files, problem", [
    (["0"], {}, "Wrong first argument: 0 (should be a positive integer or -1) ; exiting"),
    ([], {}, "Wrong first argument:  (should be"),
    (["x"], {}, "Wrong first argument: x (should be"),
    (["1"], {"config.h": None}, "Non-farm directory (config.h, job_script.sh, single_case.sh, and/or table.dat are missing)"),
    (["1", "-auto"], {"resubmit_script.sh": None}, "-auto option requires resubmit_script.sh"),
    (["1"], {"job_script.sh": "#!/bin/bash\ntask.run\n"}, "Job runtime sbatch argument (-t or --time) is missing in job_script.sh. Exiting"),
    (["1"], {"config.h": "RUNTIME_MIN=6000\n"}, "Wrong job runtime in job_script.sh - 600 . Exiting"),
    (["1"], {"config.h": "NJOBS_MAX=many\n"}, "config.h, line 1: NJOBS_MAX must be a number"),
    (["1"], {"table.dat": "true\n\ntrue\n"}, "table.dat, line 2: it is empty: remove it"),
    (["1"], {"table.dat": ""}, "table.dat has no cases"),
    (["1", "--nonsense"], {}, "--nonsense")])
def test_wrong_requests_are_named(cluster, arguments, files, problem):
    farm = Farm(cluster, ["true"])
    for name, text in files.items():
        (farm.path / name).unlink() if text is None else farm.write(name, text)
    assert problem in farm.run("submit.run", *arguments, check=1)
    assert not cluster.queue()


def test_outside_of_a_farm_they_say_so(cluster):
    for command in ("list.run", "query.run", "kill.run", "prune.run", "Status.run", "clean.run", "task.run"):
        done = cluster.run(command)
        assert done.returncode == 1 and done.stdout == "Non-farm directory, or no farm has been submitted; exiting\n", command
    farm = Farm(cluster, ["true"])
    assert "Non-farm directory, or no farm" in farm.run("resubmit.run", "1", check=1)
    assert "exists already" in cluster.run("farm_init.run", "farm").stdout


def test_a_farm_of_metas_own_is_carried_on(cluster):
    """What META-Farm has left: statuses, a link to scratch files, and a script that loads its module."""
    farm = Farm(cluster, [f"{i} echo case {i}" for i in range(1, 6)])
    (farm.path / "STATUSES").mkdir()
    farm.write("STATUSES/status.4711", "1 0\n2 1\n3 0\n")
    (farm.path / "TMP").symlink_to("/home/nobody/tmp/node.1")
    farm.write("job_script.sh", farm.read("job_script.sh").replace("task.run", "module load meta-farm\ntask.run"))
    assert "submitted before" in farm.run("submit.run", "2", check=1)
    assert "Submitting 3 cases from table.dat_" in farm.run("resubmit.run", "2")
    farm.ended()
    assert farm.statuses() == {str(i): "0" for i in range(1, 6)}
