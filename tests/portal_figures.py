"""Which figure of the portal's pages is which field of which command, and a walk that compares them all.

FIGURES is the table: "record.field" of the portal's description (/openapi/v3) -> for each command that prints it, how its
value is read from a row of that command. A reader returns None, a word, or the interval that the printed digits stand for.
UNPRINTED has the numbers that no command prints, each with the reason. Walk.answer() fails for a number in neither.
"""
import json
import math
import re
import time

WIDTH = 150
LIVE = {"PENDING", "RUNNING", "SUSPENDED", "COMPLETING"}
KIB = {"B": 1 / 1024, "K": 1, "M": 1024, "G": 1024**2, "T": 1024**3, "P": 1024**4}


# ---- how a printed value is read ----------------------------------------------------------------------------------------
def exactly(value):
    return value, value


def whole(text):
    return exactly(int(text))


def moment(text):
    return exactly(0) if text in ("", "N/A", "Unknown", "None", "NONE") else exactly(int(time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%S"))))


def clock(text):
    """Seconds of 1-02:03:04, 2:03, 00:00.114: what is cut off may have been there."""
    days, _, rest = text.rpartition("-")
    seconds = 0.0
    for part in rest.split(":"):
        seconds = 60 * seconds + float(part)
    low = 86400 * int(days or 0) + seconds
    return low - 0.001, low + (0.001 if "." in text else 1)


def seconds(text):
    return exactly(round(clock(text)[0]))


def minutes(text):
    return None if text.lower() in ("unlimited", "infinite", "n/a") else exactly(round(clock(text)[0] / 60))


def minutes_in_words(text):
    """sacct and sinfo tell limits as 1-00:00:00 or 30:00; a plain number is minutes."""
    return None if text.lower() in ("unlimited", "infinite", "n/a", "") else whole(text) if text.isdigit() else minutes(text)


def decimals(text):
    if text in ("", "inf"):
        return None
    half = 0.5 * 10 ** -len(text.partition(".")[2])
    return float(text) - half, float(text) + half


def size(text, unit=1):
    """KiB of 12.34 MB, 100K, 2000M, over `unit`."""
    found = re.fullmatch(r"([\d.]+) ?([BKMGTP]?)B?", text)
    one = KIB[found[2] or "B"] / unit
    low, high = decimals(found[1])
    return (low * one, high * one) if "." in found[1] else exactly(float(found[1]) * one)


def amounts(text):
    return dict(part.partition("=")[::2] for part in text.split(",") if "=" in part)


def memory_of(text):
    return size(amounts(text).get("mem", "0"), 1024)


def gpus_of(text):
    return whole(amounts(text).get("gres/gpu", "0"))


def gres_count(text):
    return exactly(sum(int(one) for one in re.findall(r"gpu:(?:[^:,()]+:)?(\d+)", text)))


def reported(text):
    """diskusage_report: `4096 B`, `20TB`, `500K`, `-`: at least four digits before a unit is taken."""
    found = re.fullmatch(r"(\d+)\s*([KMGTPE]?)B?", text.strip())
    if not found:
        return exactly(0)
    one = 1000 ** " KMGTPE".index(found[2] or " ")
    half = 0 if one == 1 else one / 2
    return int(found[1]) * one - half, int(found[1]) * one + half


def at(column, reader=whole):
    return lambda row: reader(row[column])


def of_seff(line, pattern, reader, otherwise=0):
    def read(row):
        found = re.search(pattern, row.get(line, ""))
        return reader(found[1]) if found else exactly(otherwise)
    return read


def cores_of_seff(row):
    return whole(row["Cores"]) if "Cores" in row else exactly(int(row["Nodes"]) * int(row["Cores per node"]))


def array_of(column):
    return lambda row: exactly(int(row[column].partition("_")[0]) if "_" in row[column] else 0)


def task_of(column):
    return lambda row: exactly(int(row[column].partition("_")[2])) if re.fullmatch(r"\d+_\d+", row[column]) else None


def allocated(reader):
    return lambda row: reader(row["AllocTRES"] or row["ReqTRES"])


def same(name):
    return lambda row: row[name]


# ---- the table ----------------------------------------------------------------------------------------------------------
FIGURES = {
    "job.job_id": {"squeue": at("JobID"), "sacct": at("JobIDRaw")},
    "job.array_job_id": {"squeue": array_of("JobArrayID"), "sacct": array_of("JobID")},
    "job.task": {"squeue": task_of("JobArrayID"), "sacct": task_of("JobID")},
    "job.submit": {"squeue": at("SubmitTime", moment), "sacct": at("Submit", moment)},
    "job.eligible": {"squeue": at("EligibleTime", moment), "sacct": at("Eligible", moment)},
    "job.start": {"squeue": at("StartTime", moment), "sacct": at("Start", moment)},
    "job.end": {"squeue": at("EndTime", moment), "sacct": at("End", moment)},
    "job.elapsed": {"squeue": at("TimeUsed", seconds), "sacct": at("ElapsedRaw")},
    "job.limit_minutes": {"squeue": at("TimeLimit", minutes), "sacct": at("TimelimitRaw", minutes_in_words)},
    "job.node_count": {"squeue": at("NumNodes"), "sacct": at("NNodes")},
    "job.cpus": {"squeue": at("NumCPUs"), "sacct": lambda row: whole(row["NCPUS"] if row["AllocTRES"] else row["ReqCPUS"])},
    "job.memory_mib": {"squeue": at("tres-alloc", memory_of), "sacct": allocated(memory_of)},
    "job.gpus": {"squeue": at("tres-alloc", gpus_of), "sacct": allocated(gpus_of)},
    "job.priority": {"squeue": at("PriorityLong"), "sacct": at("Priority"), "sprio": at("priority")},
    "job_details.restarts": {"squeue": at("RestartCnt"), "sacct": at("Restarts")},
    "efficiency.wall_seconds": {"seff": of_seff("Job Wall-clock time", "(.+)", seconds)},
    "efficiency.cores": {"seff": cores_of_seff},
    "efficiency.cpu_seconds": {"seff": of_seff("CPU Utilized", "(.+)", seconds)},
    "efficiency.core_seconds": {"seff": of_seff("CPU Efficiency", "of (.+) core-walltime", seconds)},
    "efficiency.cpu_percent": {"seff": of_seff("CPU Efficiency", r"([\d.]+)%", decimals)},
    "efficiency.memory_kib": {"seff": of_seff("Memory Utilized", "(.+)", size)},
    "efficiency.held_kib": {"seff": of_seff("Memory Efficiency", "of (.+)", size)},
    "efficiency.memory_percent": {"seff": of_seff("Memory Efficiency", r"([\d.]+)%", decimals)},
    "efficiency.gpus": {"seff": of_seff("GPU Efficiency", r"of (\d+) GPU", whole)},
    "efficiency.gpu_percent": {"seff": of_seff("GPU Efficiency", r"([\d.]+)%", decimals)},
    "efficiency.gpu_memory_kib": {"seff": of_seff("GPU Memory Utilized", "(.+)", size)},
    "efficiency.joules": {"seff": of_seff("Energy Consumed", r"(\d+) Joules", whole)},
    "step.start": {"sacct": at("Start", moment)},
    "step.end": {"sacct": at("End", moment)},
    "step.elapsed": {"sacct": at("ElapsedRaw")},
    "step.tasks": {"sacct": at("NTasks")},
    "step.cpus": {"sacct": at("NCPUS")},
    "step.cpu_seconds": {"sacct": at("TotalCPU", clock)},
    "step.max_rss_kib": {"sacct": lambda row: size(row["MaxRSS"] or "0")},
    "node_allocation.cpus": {"scontrol show job": at("cpus", exactly)},
    "node_allocation.memory_mib": {"scontrol show job": at("Mem")},
    "node_allocation.gpus": {"scontrol show job": same("gpus")},
    "task.task": {"sacct": task_of("JobID")},
    "task.job_id": {"sacct": at("JobIDRaw")},
    "task.start": {"sacct": at("Start", moment)},
    "task.end": {"sacct": at("End", moment)},
    "related_job.job_id": {"scontrol show job": at("named", exactly)},
    "jobs.total": {"squeue": at("lines", exactly)},
    "jobs.counts": {"squeue": same("counts")},
    "home.running_count": {"squeue": at("running", exactly)},
    "home.waiting_count": {"squeue": at("waiting", exactly)},
    "home.ended_count": {"sacct": at("ended", exactly)},
    "failures.total": {"sacct": at("failed", exactly)},
    "bar.job_id": {"sacct": at("JobIDRaw")},
    "bar.start": {"sacct": at("Start", moment)},
    "bar.end": {"sacct": at("End", moment)},
    "bar.cpus": {"sacct": at("NCPUS")},
    "bar.gpus": {"sacct": allocated(gpus_of)},
    "footprint.jobs": {"sacct": at("jobs", exactly)},
    "footprint.core_hours": {"sacct": same("core_hours")},
    "footprint.gpu_hours": {"sacct": same("gpu_hours")},
    "share.norm_shares": {"sshare": at("NormShares", decimals)},
    "share.norm_usage": {"sshare": lambda row: decimals(row["NormUsage"]) or "not told"},
    "share.level": {"sshare": lambda row: decimals(row["LevelFS"]) if row["LevelFS"] else "not told"},
    "share.fair_share": {"sshare": at("FairShare", decimals)},
    "share_tree.half_life": {"scontrol show config": lambda row: seconds(row["PriorityDecayHalfLife"])},
    "share_line.depth": {"sshare": lambda row: exactly(len(row["Account"]) - len(row["Account"].lstrip(" ")))},
    "share_line.shares": {"sshare": lambda row: whole(row["RawShares"]) if row["RawShares"].isdigit() else "not told"},
    "share_line.norm_shares": {"sshare": at("NormShares", decimals)},
    "share_line.raw_usage": {"sshare": at("RawUsage")},
    "share_line.norm_usage": {"sshare": lambda row: decimals(row["NormUsage"]) or "not told"},
    "share_line.effective_usage": {"sshare": at("EffectvUsage", decimals)},
    "share_line.level": {"sshare": lambda row: decimals(row["LevelFS"]) if row["LevelFS"] else "not told"},
    "share_line.fair_share": {"sshare": at("FairShare", decimals)},
    "usage.begin": {"minke usage": at("begin", exactly)},
    "usage.end": {"minke usage": at("end", exactly)},
    "usage.accounts": {"minke usage": same("accounts")},
    "usage.allocations": {"minke usage": same("allocations")},
    "waste.jobs": {"seff": same("jobs")},
    "waste.core_hours": {"seff": same("core_hours")},
    "waste.core_hours_used": {"seff": same("core_hours_used")},
    "waste.memory_gib_hours": {"seff": same("memory_gib_hours")},
    "waste.memory_gib_hours_used": {"seff": same("memory_gib_hours_used")},
    "waste.gpu_hours": {"sacct": same("gpu_hours")},
    "wasted_job.job_id": {"seff": at("Job ID")},
    "wasted_job.cpu_percent": {"seff": of_seff("CPU Efficiency", r"([\d.]+)%", decimals)},
    "wasted_job.memory_percent": {"seff": of_seff("Memory Efficiency", r"([\d.]+)%", decimals)},
    "wasted_job.gpu_percent": {"seff": lambda row: decimals(re.match(r"[\d.]+", row["GPU Efficiency"])[0]) if "GPU Efficiency" in row else None},
    "tier.bytes": {"diskusage_report": at("bytes", reported), "minke storage usage": at("space", exactly)},
    "tier.bytes_limit": {"diskusage_report": at("bytes_limit", reported), "minke storage usage": at("space_limit", exactly)},
    "tier.files": {"diskusage_report": at("files", reported), "minke storage usage": at("files", exactly)},
    "tier.files_limit": {"diskusage_report": at("files_limit", reported), "minke storage usage": at("files_limit", exactly)},
    "tier.purge_days": {"minke storage usage": at("purge_days", exactly)},
    "owned_tier.unreadable": {"minke storage usage": at("errors", exactly)},
    "owner.bytes": {"diskusage_report --per_user": lambda row: tuple(edge * 2**30 for edge in decimals(row["gib"]))},
    "owner.files": {"diskusage_report --per_user": at("files")},
    "purge.days": {"minke storage usage": at("purge_days", exactly)},
    **{f"cluster.{field}": {"sinfo": at(field, exactly)} for field in (
        "nodes", "cpus", "allocated_cpus", "memory_mib", "allocated_memory_mib", "gpus", "allocated_gpus")},
    "cluster.node_states": {"sinfo": same("states")},
    "node.reason_time": {"sinfo": at("timestamp", moment)},
    "node.cpus": {"sinfo": lambda row: whole(row["cpusstate"].split("/")[3])},
    "node.allocated_cpus": {"sinfo": lambda row: whole(row["cpusstate"].split("/")[0])},
    "node.load": {"sinfo": at("cpusload", decimals)},
    "node.memory_mib": {"sinfo": at("memory")},
    "node.allocated_memory_mib": {"sinfo": at("allocmem")},
    "node.free_memory_mib": {"sinfo": at("freemem")},
    "node.gpus": {"sinfo": at("gres", gres_count)},
    "node.allocated_gpus": {"sinfo": at("gresused", gres_count)},
    "node.running_jobs": {"squeue": at("jobs", exactly)},
    "node.boot_time": {"scontrol show node": at("BootTime", moment)},
    "partition.node_count": {"sinfo": lambda row: whole(row["nodeaiot"].split("/")[3])},
    "partition.cpus": {"sinfo": lambda row: whole(row["cpusstate"].split("/")[3])},
    "partition.memory_mib": {"sinfo": at("memory", exactly)},
    "partition.gpus": {"sinfo": at("gpus", exactly)},
    "partition.limit_minutes": {"sinfo": at("time", minutes)},
    "partition.default_minutes": {"sinfo": at("defaulttime", minutes)},
    "partition.priority_tier": {"sinfo": at("prioritytier")},
    "forecast.running": {"squeue": at("running", exactly)},
    "forecast.waiting": {"squeue": at("waiting", exactly)},
    "forecast.forecast": {"squeue --start": at("forecast", exactly)},
    "forecast.last_start": {"squeue --start": at("last", exactly)},
    "wait_kind.jobs": {"sacct": same("jobs")},
    "wait_kind.completed": {"sacct": same("completed")},
    "wait_kind.timed_out": {"sacct": same("timed_out")},
    "wait_kind.mean": {"sacct": same("mean")},
    "wait_kind.most": {"sacct": same("most")},
    "reservation.start": {"scontrol show reservation": at("StartTime", moment)},
    "reservation.end": {"scontrol show reservation": at("EndTime", moment)},
    "reservation.cores": {"scontrol show reservation": at("CoreCnt")},
    "node_event.time": {"sacctmgr show event": at("TimeStart", moment), "sacct": at("End", moment)},
    "node_event.end": {"sacctmgr show event": at("TimeEnd", moment), "sacct": at("End", moment)},
    "node_event.job_id": {"sacctmgr show event": lambda row: exactly(0), "sacct": at("JobIDRaw")},
}

# They go up and down with the machine: what a page tells need not lie between what is told before and after it.
RESTLESS = (".load", ".free_memory_mib")

OF_THE_ANSWER = "of the answer itself: when it was made, or which part of a list it is"
MONEY = "money and CO2 by the site's constants, which no command prints; test_portal_records.py works them out"
OF_THE_LIST = "of the purge's list of files, which no command prints; test_portal_records.py compares it with the files"
SUMMED = "summed up from jobs that are compared one by one; its unit tests lie in src/view"
UNPRINTED = {
    **dict.fromkeys(("jobs.offset", "ended_jobs.before", "ended_jobs.before_id", "timeline.since", "timeline.left_out", "waits.since",
                     "waste_page.since", "forecast.until", "forecast.left_out", "levels.time"), OF_THE_ANSWER),
    **dict.fromkeys(("waste.cost", "footprint.cost", "footprint.cloud_cost", "footprint.electricity_cost", "footprint.kg_co2",
                     "footprint.car_km", "footprint.constants", "footprint.kwh", "footprint.measured_jobs"), MONEY),
    **dict.fromkeys(("tier.removal", "tier.purged_files", "purge.noticed", "purge.before", "purge.removal", "purge.files", "purge.bytes",
                     "purged_file.bytes", "purged_file.last_use"), OF_THE_LIST),
    **dict.fromkeys(("timeline.held", "forecast.held", "level_curve.levels", "wait_kind.median", "wait_kind.run_share",
                     "wait_kind.limit_minutes"), SUMMED),
    **dict.fromkeys(("waste.gpu_hours_measured", "waste.gpu_hours_used"), "needs a GPU that is measured; src/view/waste_test.cpp has them"),
    "module.line": "a line of the script; test_portal_admin.py compares it with the script",
    "advice.numbers": "what a rule of advice is about; src/view/advice_test.cpp works them out",
    "job_details.het_job_id": "scontrol prints it of heterogeneous jobs alone; test_hetjobs.py has them",
    "message.time": "of what a message is about: a reservation or a purge, which are compared themselves",
    "message.numbers": "the same",
    "snapshot.time": "the directory's name says it; test_portal_records.py restores from it",
}


# ---- what the commands print --------------------------------------------------------------------------------------------
QUEUED = ("JobID", "JobArrayID", "State", "SubmitTime", "EligibleTime", "StartTime", "EndTime", "TimeUsed", "TimeLimit", "NumNodes", "NumCPUs",
          "tres-alloc", "PriorityLong", "NodeList")
RECORDED = ("JobID", "JobIDRaw", "State", "Submit", "Eligible", "Start", "End", "ElapsedRaw", "TimelimitRaw", "NNodes", "NCPUS", "ReqCPUS",
            "AllocTRES", "ReqTRES", "Priority", "NTasks", "TotalCPU", "MaxRSS", "Account", "User", "CPUTimeRAW", "Partition")


class Jobs:
    """What squeue and sacct print, Minke's or Slurm's, at one time; rows by the numbers of jobs."""

    def __init__(self, cluster, queued=QUEUED, recorded=RECORDED):
        self.cluster = cluster
        self.queue = {int(row["JobID"]): row for row in self.columns(("squeue", "-h"), queued)}
        rows = self.piped(("sacct", "-n", "--units=K"), recorded)
        self.record = {int(row["JobIDRaw"]): row for row in rows if row["JobIDRaw"].isdigit()}
        self.steps = {row["JobID"]: row for row in rows if not row["JobIDRaw"].isdigit()}

    def lines(self, *command):
        return self.cluster.run(*command, check=0).stdout.splitlines()

    def columns(self, command, names):
        shown = self.lines(*command, "-O", ",".join(f"{name}:{WIDTH}" for name in names))
        return [{name: line[at_ * WIDTH:(at_ + 1) * WIDTH].strip() for at_, name in enumerate(names)} for line in shown]

    def piped(self, command, names, option="-o"):
        words = (option, ",".join(names)) if option == "-o" else (option + ",".join(names),)
        return [dict(zip(names, line.split("|"))) for line in self.lines(*command, "-P", *words)]


class Printed(Jobs):
    """What the commands print of a cluster, at one time. Each row is found by what a page calls it."""

    def __init__(self, cluster):
        super().__init__(cluster, (*QUEUED, "RestartCnt"), (*RECORDED, "Restarts"))
        self.seffs = {}
        self.starts = {int(row["JobID"]): row for row in self.columns(("squeue", "-h", "--start", "-t", "PD"), QUEUED)}
        self.prio = {row[0]: {"priority": row[1]} for row in (line.split() for line in self.lines("sprio", "-h", "-o", "%i %Y"))}
        nodes = ("nodelist", "cpusstate", "cpusload", "memory", "allocmem", "freemem", "gres", "gresused", "timestamp", "statecomplete")
        self.nodes = {row["nodelist"]: row for row in self.columns(("sinfo", "-h", "-N"), nodes)}
        self.partitions = {row["partitionname"]: row for row in self.columns(
            ("sinfo", "-h"), ("partitionname", "nodeaiot", "cpusstate", "time", "defaulttime", "prioritytier"))}
        self.shares = {(row["Account"].strip(), row["User"]): row for row in self.piped(("sshare", "-a", "-n"), (
            "Account", "User", "RawShares", "NormShares", "RawUsage", "NormUsage", "EffectvUsage", "FairShare", "LevelFS"))}
        self.usage = json.loads(cluster.run("minke", "usage", "--json", check=0).stdout)
        self.config = dict(re.findall(r"^(\w+)\s+= (.*)$", cluster.run("scontrol", "show", "config", check=0).stdout, re.MULTILINE))
        self.node_facts = {found[1]: dict(re.findall(r"(\w+)=(\S*)", line)) for line in self.lines("scontrol", "-o", "show", "node")
                           if (found := re.match(r"NodeName=(\S+)", line))}
        self.reservations = {found[1]: dict(re.findall(r"(\w+)=(\S*)", line)) for line in self.lines("scontrol", "-o", "show", "res")
                             if (found := re.match(r"ReservationName=(\S+)", line))}
        self.events = {row["NodeName"]: row for row in self.piped(("sacctmgr", "-n", "show", "event"), ("NodeName", "TimeStart", "TimeEnd"), "format=")}
        self.detailed = cluster.run("scontrol", "show", "job", "-d").stdout
        for job, row in self.queue.items():
            if row["State"] == "RUNNING":
                self.seff(job)  # now, as it grows

    def seff(self, job):
        if job not in self.seffs:
            self.seffs[job] = dict(line.split(": ", 1) for line in self.lines("seff", job) if ": " in line)
        return self.seffs[job]

    def allocation(self, job, node):
        section = re.search(rf"JobId={job} .*?(?=\nJobId=|\Z)", self.detailed, re.DOTALL)
        for nodes, cpus, memory, gres in re.findall(r"Nodes=(\S+) CPU_IDs=(\S+) Mem=(\d+) GRES=(\S*)", section[0]):
            if node not in self.lines("scontrol", "show", "hostnames", nodes):
                continue
            listed = re.search(r"IDX:([\d,-]+)", gres)
            return {"cpus": len(numbers(cpus)), "Mem": memory, "gpus": numbers(listed[1]) if listed else []}
        return None

    def started(self):
        return [row for row in self.record.values() if row["Start"] not in ("Unknown", "None")]

    # Sums of jobs, as the pages tell them.
    def hours(self, jobs):
        """Core-hours and GPU-hours by sacct; of what ran, how much."""
        held = [int(self.record[job]["CPUTimeRAW"]) / 3600 for job in jobs]
        gpus = [int(self.record[job]["ElapsedRaw"]) * gpus_of(self.record[job]["AllocTRES"])[0] / 3600 for job in jobs]
        return {"jobs": sum(int(self.record[job]["ElapsedRaw"]) > 0 for job in jobs), "core_hours": near(sum(held)), "gpu_hours": near(sum(gpus))}

    def waste(self, jobs):
        rows = [(self.seff(job), self.record[job]) for job in jobs if int(self.record[job]["ElapsedRaw"]) > 0]
        held = [of_seff("CPU Efficiency", "of (.+) core-walltime", seconds)(seff)[0] for seff, _ in rows]
        used = [of_seff("CPU Utilized", "(.+)", seconds)(seff)[0] for seff, _ in rows]
        memory = [[edge * int(row["ElapsedRaw"]) / 2**20 / 3600 for edge in of_seff("Memory Efficiency", "of (.+)", size)(seff)] for seff, row in rows]
        taken = [[edge * int(row["ElapsedRaw"]) / 2**20 / 3600 for edge in of_seff("Memory Utilized", "(.+)", size)(seff)] for seff, row in rows]
        return {"jobs": exactly(len(rows)), "core_hours": near(sum(held) / 3600),
                "core_hours_used": near(sum(min(pair) for pair in zip(held, used)) / 3600),
                "memory_gib_hours": (sum(low for low, _ in memory) - 1e-9, sum(high for _, high in memory) + 1e-9),
                "memory_gib_hours_used": (sum(min(low, one[0]) for (low, _), one in zip(taken, memory)) - 1e-9,
                                          sum(min(high, one[1]) for (_, high), one in zip(taken, memory)) + 1e-9)}

    def waits(self, partition, has_gpus, limit):
        classes = (180, 720, 1440, 4320, 10080)

        def kind(row):
            asked = minutes_in_words(row["TimelimitRaw"])
            return (row["Partition"], gpus_of(row["AllocTRES"])[0] > 0, next((one for one in classes if asked and asked[0] <= one), 0))
        rows = [row for row in self.started() if kind(row) == (partition, has_gpus, limit)]
        waited = [moment(row["Start"])[0] - moment(row["Eligible"])[0] for row in rows]
        return rows and {"jobs": exactly(len(rows)), "completed": exactly(sum(row["State"] == "COMPLETED" for row in rows)),
                         "timed_out": exactly(sum(row["State"] == "TIMEOUT" for row in rows)),
                         "mean": near(sum(waited) / len(waited)), "most": exactly(max(waited))}


def near(value):
    return value - 1e-6 * abs(value), value + 1e-6 * abs(value)


def numbers(ranges):
    found = []
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


# ---- the walk -----------------------------------------------------------------------------------------------------------
def within(value, before, after):
    """Whether a page's value lies between what a command printed before and after it."""
    if isinstance(before, dict) and isinstance(value, dict):
        return set(value) == set(before) and all(within(value[key], before[key], after.get(key, before[key])) for key in before)
    if isinstance(before, list) and isinstance(value, list):
        return len(value) == len(before) and all(within(*three) for three in zip(value, before, after if len(after) == len(before) else before))
    if isinstance(before, (int, float)) and not isinstance(before, bool) and isinstance(after, (int, float)):
        before, after = exactly(before), exactly(after)
    if isinstance(before, tuple) and isinstance(after, tuple) and isinstance(value, (int, float)):
        low, high = min(before[0], after[0]), max(before[1], after[1])
        return low - 1e-9 * abs(low) - 1e-12 <= value <= high + 1e-9 * abs(high) + 1e-12 or math.isclose(value, low, rel_tol=1e-9)
    return "not told" in (before, after) or value in (before, after)


class Walk:
    """Compares answers of the portal, of which `schemas` tell the shape, with what was printed before and after them. `rows` says
    for a record which rows of which commands are about it: {command: row}; {}: none, as of a job without a priority."""

    def __init__(self, schemas, before, after, rows):
        self.schemas, self.before, self.after, self.rows = schemas, before, after, rows
        self.compared, self.agreed, self.differences = set(), set(), {}

    def answer(self, path, value, schema):
        self.walk(value, schema, path, ())

    def walk(self, value, schema, where, above):
        if value is None:
            return
        if schema.get("type") == "array":
            for index, one in enumerate(value):
                self.walk(one, schema["items"], f"{where}[{index}]", above)
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            self.record(name, value, self.schemas[name], where, (*above, (name, value)))

    def record(self, name, value, schema, where, above):
        found = None
        for field, of_field in schema.get("properties", {}).items():
            figure = f"{name}.{field}"
            if field not in value and field not in schema["required"]:
                continue
            if is_number(of_field) and field != "now":
                assert figure in FIGURES or figure in UNPRINTED, f"{figure} stands in no row of the table of portal_figures.py"
            if figure not in FIGURES:
                self.walk(value[field], of_field, f"{where}.{field}", above)
                continue
            if found is None:
                found = self.rows(self.before, name, value, where, above), self.rows(self.after, name, value, where, above)
            self.compare(figure, value[field], f"{where}.{field}", *found)

    def compare(self, figure, value, where, before, after):
        for command, reader in FIGURES[figure].items():
            sides = [side[command] for side in (before, after) if side.get(command)]
            if not sides:
                continue
            told = [reader(side) for side in sides]
            self.compared.add((figure, command))
            if within(value, told[0], told[-1]):
                self.agreed.add((where, command))
            else:
                self.differences[where, command] = f"{where} ({figure}): the page has {value!r}, {command} {told[0]!r}, then {told[-1]!r}"


def is_number(schema):
    return "$ref" not in schema and (schema.get("type") in ("integer", "number", None) or
                                     schema.get("type") == "array" and is_number(schema["items"]))
