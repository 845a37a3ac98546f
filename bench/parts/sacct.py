"""How long does `sacct` take over a million finished jobs: one user's day, everybody's day, one job?
And are `sbatch`, `sacct` of one job and the daemon's start as fast as with none? (--finished-jobs 10000000)

The record is written into the database as the daemon would have: a job every 30 s for a year, of a hundred users.
"""
import sqlite3
import subprocess
import time

from context import Context, require
from report import Report
from wire import protocol

NAME = "sacct"
LIMIT_S = 0.2
USERS = 100
FIRST_UID = 5000
EVERY = 30  # s
LENGTH = 600  # s of each job


def fill(path, jobs: int, first_end: int, people: dict[int, str] | None = None) -> None:
    """`people`: whose they are, by uid, in turn."""
    people = people or {FIRST_UID + number: f"user{number}" for number in range(USERS)}
    uids = list(people)
    model = protocol()
    spec = model.JobSpec(name=b"job", work_dir=b"/tmp", command=b"/tmp/job.sh", min_nodes=1, ntasks=1, cpus_per_task=1)
    record = model.JobRecord(gid=100, group_name=b"users", state=model.JOB_COMPLETE, requeue_allowed=True, priority=1000,
                             partition=b"main", time_limit_minutes=60, node_list=b"n1", batch_host=b"n1", num_nodes=1,
                             num_cpus=1, num_tasks=1, memory_mib=1000)
    record.nodes.add(node=b"n1", cpus=1, memory_mib=1000, tasks=1)

    def rows():
        for number in range(jobs):
            job_id, end = number + 1, first_end + number * EVERY
            record.job_id, record.uid = job_id, uids[number % len(uids)]
            record.user_name = people[record.uid].encode()
            record.submit_time = record.eligible_time = end - LENGTH - 60
            record.start_time, record.end_time = end - LENGTH, end
            yield job_id << 31, 1, record.uid, 2, record.submit_time, end, record.SerializeToString()

    base = sqlite3.connect(path)
    with base:
        base.execute("INSERT INTO specs(spec_id, name, record) VALUES(1, 'job', ?)", (spec.SerializeToString(),))
        base.executemany("INSERT INTO jobs(run, spec_id, uid, outcome, submit_time, end_time, record) "
                         "VALUES(?, ?, ?, ?, ?, ?, ?)", rows())
    base.close()


def timed(minke, *words) -> float:
    began = time.monotonic()
    require(minke.command(*words))
    return time.monotonic() - began


def restart(minke) -> float:
    """Until the daemon answers again."""
    require(subprocess.run([str(minke.program), "down", "--cancel-jobs"], env=minke.environment, capture_output=True, text=True))
    began = time.monotonic()
    require(subprocess.run([str(minke.program), "up"], env=minke.environment, capture_output=True, text=True))
    require(minke.command("squeue", "-h"))
    return time.monotonic() - began


def one_by_one(minke, report: Report, which: str, job: int, times: int) -> None:
    """Submissions of held jobs, questions about one job, a start."""
    for _ in range(times):
        report.sample(f"sbatch, {which}: s", timed(minke, "sbatch", "--hold", "--wrap", "true"))
        report.sample(f"sacct -j, {which}: s", timed(minke, "sacct", "-X", "-n", "-P", "-j", str(job)))
    report.sample(f"start of the daemon, {which}: s", restart(minke))


def measure(context: Context, report: Report) -> None:
    options = context.options
    now = int(time.time())
    first_end = now - options.finished_jobs * EVERY
    middle = time.localtime(now - options.finished_jobs * EVERY // 2)
    day = ["-S", time.strftime("%Y-%m-%dT00:00:00", middle), "-E", time.strftime("%Y-%m-%dT23:59:59", middle)]
    with context.minke() as minke:
        require(minke.command("sbatch", "--wait", "--wrap", "true"))
        one_by_one(minke, report, "no finished jobs", 1, 30)
    with context.minke() as minke:
        require(subprocess.run([str(minke.program), "down"], env=minke.environment, capture_output=True, text=True))
        fill(minke.home / "minke.db", options.finished_jobs, first_end)
        require(subprocess.run([str(minke.program), "up"], env=minke.environment, capture_output=True, text=True))
        per_day = 86400 // EVERY
        questions = [("one user's day", ["-u", str(FIRST_UID + 7), *day], per_day // USERS),
                     ("everybody's day", ["-a", *day], per_day),
                     ("one job", ["-j", str(options.finished_jobs // 2)], 1),
                     ("the last hour", ["-a", "-S", time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(now - 3600))], 3600 // EVERY)]
        for _ in range(options.repeats):
            for title, words, least in questions:
                began = time.monotonic()
                done = require(minke.command("sacct", "-X", "-n", "-P", "-o", "JobID,User,State,Elapsed", *words))
                report.sample(f"sacct, {title}: s", time.monotonic() - began)
                lines = done.stdout.count("\n")
                if not least - 2 <= lines <= 2 * least + 50:
                    raise RuntimeError(f"sacct, {title}: {lines} jobs, where some {least} were to be expected")
        one_by_one(minke, report, "with finished jobs", options.finished_jobs // 2, 30)
        for what in ("sbatch", "sacct -j", "start of the daemon"):
            report.compare(f"{what}, {options.finished_jobs} finished jobs against none", f"{what}, with finished jobs: s",
                           f"{what}, no finished jobs: s", "itself", "s", budget=0.9,
                           smaller_is_better=True)
        # The budget is of a million jobs, by user and day; the other questions are only told beside it.
        for title, words, _ in questions:
            if options.finished_jobs <= 1_000_000 or "-a" not in words:
                report.limit(f"sacct of {options.finished_jobs} finished jobs, {title}", f"sacct, {title}: s", "s", LIMIT_S)
