"""What do the portal's answers take, what does it cost at rest, and what do 500 open pages cost the daemon: at rest, and of
the jobs that it gets through with a second of its processor while all of them end?

A queue of waiting jobs is asked for as slurmrestd's clients do, beside slurmrestd where it is installed; both by the
job. The pages' first load is what a browser fetches before it shows one. Pages in a browser are timed on a cluster with
a long queue and the record of a year (--queued, --finished-jobs), with Debian's chromium and the packages of web/tests.
"""
import contextlib
import getpass
import http.client
import json
import os
import pathlib
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time

from context import Context, job_script, require
from parts import core, sacct
from parts.rest import resident_kib, switches
from parts.squeue import submit_singles, submit_singles_by_wire
from peers.slurm import PATH
from report import Report
from wire import protocol

NAME = "portal"
JOBS, PAGES = 10_000, 500


class Portal:
    """`minke portal` of a cluster, with the token that programs show."""

    def __init__(self, cluster):
        token = cluster.directory / "portal.token"
        self.process = subprocess.Popen([str(cluster.program), "portal", "--port", "0", "--token-file", str(token)],
                                        env=cluster.environment, stdout=subprocess.PIPE, text=True)
        said = iter(self.process.stdout.readline, "")
        self.url = next((found[0] for line in said if (found := re.search(r"http://localhost:\d+/login\?token=\w+", line))), None)
        if self.url is None:
            raise RuntimeError("the portal has not begun")
        self.port = int(re.search(r":(\d+)/", self.url)[1])
        self.token = token.read_text().strip()

    def get(self, path: str, **headers: str) -> bytes:
        connection = http.client.HTTPConnection("localhost", self.port, timeout=120)
        connection.request("GET", path, headers={"X-SLURM-USER-TOKEN": self.token} | headers)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        if answer.status != 200:
            raise RuntimeError(f"{path}: {answer.status} {content[:200]!r}")
        return content

    def close(self) -> None:
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()


def first_load(portal: Portal) -> int:
    """Bytes of the first page with all that it and its programs name, the other pages' too, compressed; 0: this build has no pages."""
    try:
        text = portal.get("/").decode()
    except RuntimeError:
        return 0
    size, seen = len(portal.get("/", **{"Accept-Encoding": "gzip"})), set()
    while named := set(re.findall(r"assets/[\w-]+\.(?:js|css)|icon\.svg", text)) - seen:
        seen |= named
        text = "".join(portal.get("/" + path).decode() for path in named)
        size += sum(len(portal.get("/" + path, **{"Accept-Encoding": "gzip"})) for path in named)
    return size


def seconds_of(ask) -> float:
    began = time.monotonic()
    ask()
    return time.monotonic() - began


def processor_seconds(pid: int) -> float:
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def ask_slurmrestd(slurm, repeats: int, jobs: int, report: Report) -> None:
    program = shutil.which("slurmrestd", path=PATH)
    if program is None:
        return report.skip("slurmrestd", "it is not installed")
    place = slurm.directory / "restd.sock"
    server = None
    for plugin in ("openapi/slurmctld", "openapi/v0.0.38"):  # of newer releases, and of Debian's
        # It refuses to be the user of its cluster's daemons, unless told that this is a test.
        server = subprocess.Popen([program, "-a", "rest_auth/local", "-s", plugin, f"unix:{place}"], cwd="/tmp", stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, env=slurm.environment | {"SLURMRESTD_SECURITY": "disable_user_check"})
        deadline = time.monotonic() + 20
        while not place.exists() and server.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        if place.exists():
            break
    if not place.exists():
        return report.skip("slurmrestd", "it does not start here")
    try:
        def ask(path: str) -> bytes:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(str(place))
                connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
                answer = b"".join(iter(lambda: connection.recv(1 << 20), b""))
            if b" 200 " not in answer[:20]:
                raise RuntimeError(f"slurmrestd: {answer[:200]!r}")
            return answer
        page = re.search(rb"/slurm/v0\.0\.\d+/jobs", ask("/openapi/v3").replace(b"\\/", b"/"))
        if page is None:
            return report.skip("slurmrestd", "it has no page of jobs")
        for _ in range(repeats):
            report.sample("portal: slurmrestd, ms a thousand jobs", seconds_of(lambda: ask(page[0].decode())) * 1e6 / jobs)
    finally:
        server.terminate()
        server.wait()


def measure_pages(context: Context, report: Report, minke, portal: Portal) -> None:
    """What the daemon gives to 500 pages that listen while nothing but the queue's looks happens."""
    with contextlib.ExitStack() as pages:
        for _ in range(PAGES):
            connection = http.client.HTTPConnection("localhost", portal.port, timeout=60)
            connection.request("GET", "/api/v1/events", headers={"X-SLURM-USER-TOKEN": portal.token})
            connection.getresponse()
            pages.callback(connection.close)
        daemon = minke.daemon.pid if minke.daemon else minke.pid()
        before, began = processor_seconds(daemon), time.monotonic()
        time.sleep(context.options.rest_seconds)
        share = (processor_seconds(daemon) - before) / (time.monotonic() - began)
        report.sample(f"portal: {PAGES} pages, % of a core of the daemon", share * 100)


def measure_rate(minke, portal: Portal, repeats: int, report: Report) -> None:
    """Jobs for each second that the daemon computes, with and without pages that follow them."""
    daemon, size, times = minke.daemon.pid if minke.daemon else minke.pid(), 10_000, 5

    def rate(wire) -> float:
        before = processor_seconds(daemon)
        for _ in range(times):
            core.run(wire, size)
        return size * times / (processor_seconds(daemon) - before)

    with minke.wire() as wire:
        wire.socket.settimeout(600)
        core.run(wire, size)
        for _ in range(repeats):
            report.sample("portal: jobs for a second of the daemon's", rate(wire))
            pages = subprocess.Popen([sys.executable, str(pathlib.Path(__file__).parents[1] / "peers" / "pages.py"), str(portal.port), portal.token, str(PAGES)],
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            try:
                if pages.stdout.readline() != "open\n":
                    raise RuntimeError("the pages are not open")
                report.sample(f"portal: the same with {PAGES} pages", rate(wire))
                if pages.poll() is not None:
                    raise RuntimeError("the pages have ended")
            finally:
                pages.stdin.close()
                pages.wait(timeout=60)
                pages.stdout.close()


LOOKED_AT = {"home": ["/", "section table, section p.quiet"], "jobs": ["/jobs", "tbody tr"], "ended jobs": ["/jobs?list=ended&all=1", "tbody tr"],
             "cluster": ["/cluster", "section h2"], "node": ["/cluster/NODE", "dl"], "accounts": ["/accounts", "main table"], "administration": ["/admin", "main table"], "a person": ["/people/user1", "main table"], "no data": ["/nothing/here", "h1"]}  # the last is what the browser itself takes
ANSWERS = {"ended jobs, the first page": "/api/v1/jobs/ended", "failures": "/api/v1/failures", "timeline": "/api/v1/timeline?node=NODE",
           "waits of a week": "/api/v1/waits", "waste of a week": "/api/v1/waste", "footprint of a month": "/api/v1/footprint",
           "use of the year": "/api/v1/usage", "forecast": "/api/v1/forecast", "week of the cluster": "/api/v1/timeline?everyone=1",
           "events of nodes": "/api/v1/node_events", "notes": "/api/v1/notes", "log": "/api/v1/log", "levels of a month": "/api/v1/levels"}


def add_series(database: pathlib.Path, job_id: int) -> None:
    """What was measured of a job in a week, as long as a stored series gets: 64 processors, 8 GPUs with all of their parts."""
    samples, model = 240, protocol()
    every = 7 * 86400 // samples
    series = model.Series(peak_memory_kib=1 << 28, merged=32)
    series.time.extend([int(time.time()) - 7 * 86400] + [every] * (samples - 1))
    for name in ("cpu_milliseconds", "memory_kib", "read_kib", "write_kib", "processes", "energy_joules", "threads", "running_threads", "cache_kib",
                 "shared_kib", "received_kib", "sent_kib"):
        getattr(series, name).extend(number * 1000 for number in range(samples))
    for number in range(8):
        gpu = series.gpus.add(uuid=f"GPU-{number}".encode())
        for name in ("utilization", "memory_mib", "milliwatts", "clock_mhz", "memory_utilization"):
            getattr(gpu, name).extend((-1) ** sample * (sample % 50) for sample in range(samples))
        for part in range(1, 12):
            gpu.parts.add(part=part).values.extend((-1) ** sample * (sample % 500) for sample in range(samples))
    for number in range(64):
        series.processors.add(id=number).milliseconds.extend([every * 900] * samples)
    with contextlib.closing(sqlite3.connect(database)) as base, base:
        base.execute("INSERT INTO series(run, record) VALUES(?, ?)", (job_id << 31, series.SerializeToString()))


def browser_times(portal: Portal, node: str, repeats: int, report: Report) -> None:
    tests, chromium = pathlib.Path(__file__).parents[2] / "web" / "tests", shutil.which("chromium")
    if chromium is None or shutil.which("npm") is None:
        return report.skip("chromium", "it, or npm, is not installed")
    with tempfile.TemporaryDirectory() as place:
        for name in ("package.json", "package-lock.json", "usable.mjs"):
            shutil.copy(tests / name, place)
        if subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=place, capture_output=True).returncode != 0:
            return report.skip("chromium", "the packages of web/tests cannot be had")
        done = require(subprocess.run(["node", "usable.mjs", portal.url, str(repeats), json.dumps(LOOKED_AT).replace("NODE", node)], cwd=place, capture_output=True,
                                      text=True, env=os.environ | {"CHROMIUM": chromium}))
    for name, times in json.loads(done.stdout).items():
        for time_ms in times:
            report.sample(f"portal: {name} in a browser ms", time_ms)


def measure_history(context: Context, report: Report) -> None:
    """Pages with a long queue and the record of a year: a hundred users, of whom one looks."""
    options = context.options
    with context.minke() as minke:
        require(subprocess.run([str(minke.program), "down"], env=minke.environment, capture_output=True, text=True))
        began = time.monotonic()
        people = {os.getuid(): getpass.getuser()} | {sacct.FIRST_UID + number: f"user{number}" for number in range(1, sacct.USERS)}
        sacct.fill(minke.home / "minke.db", options.finished_jobs, int(time.time()) - options.finished_jobs * sacct.EVERY, people)
        report.sample("portal: the record of a year is written s", time.monotonic() - began)
        add_series(minke.home / "minke.db", options.finished_jobs)
        require(subprocess.run([str(minke.program), "up"], env=minke.environment, capture_output=True, text=True))
        submit_singles_by_wire(minke, options.queued)
        portal = Portal(minke)
        try:
            node = json.loads(portal.get("/api/v1/nodes"))["nodes"][0]["name"]
            for name, path in ANSWERS.items():
                report.sample(f"portal: {name}, ms the first time", seconds_of(lambda: portal.get(path.replace("NODE", node))) * 1000)
            path = f"/api/v1/jobs/{options.finished_jobs}/measurements"
            told = json.loads(portal.get(path))["series"]
            if len(told["time"]) < 200 or len(told["gpus"]) != 8:
                raise RuntimeError("the series of a week is not there")
            for _ in range(options.repeats):
                report.sample("portal: a week of a job's series, ms", seconds_of(lambda: portal.get(path)) * 1000)
            browser_times(portal, node, options.repeats, report)
        finally:
            portal.close()
    queue = f"{options.queued} waiting, {options.finished_jobs} ended jobs"
    for name in [one for one in LOOKED_AT if one != "no data"]:
        report.limit(f"{name} in a browser, {queue}", f"portal: {name} in a browser ms", "ms", 300)
    for name in ("ended jobs, the first page", "failures", "timeline", "forecast", "week of the cluster", "events of nodes", "notes", "log"):
        report.limit(f"{name}, {queue}", f"portal: {name}, ms the first time", "ms", 300)
    report.limit("a week of a job's series: 64 processors, 8 GPUs", "portal: a week of a job's series, ms", "ms", 20)


def measure(context: Context, report: Report) -> None:
    options = context.options
    measure_history(context, report)
    jobs = min(JOBS, options.queued)
    with context.minke(stub=True) as minke:
        submit_singles_by_wire(minke, jobs)
        portal = Portal(minke)
        try:
            report.sample("portal: first load KiB", first_load(portal) / 1024)
            time.sleep(3)
            before = switches(portal.process.pid)
            time.sleep(options.rest_seconds)
            report.sample("portal: wake-ups/s", (switches(portal.process.pid) - before) / options.rest_seconds)
            report.sample("portal: MiB", resident_kib(portal.process.pid) / 1024)
            for _ in range(options.repeats):
                report.sample("portal: ms a thousand jobs",
                              seconds_of(lambda: portal.get("/slurm/v0.0.42/jobs")) * 1e6 / jobs)
                report.sample("portal: a page of the queue ms", seconds_of(lambda: portal.get("/api/v1/jobs")) * 1000)
                report.sample("portal: the first page's data ms", seconds_of(lambda: portal.get("/api/v1/home")) * 1000)
            measure_pages(context, report, minke, portal)
            measure_rate(minke, portal, options.repeats, report)
        finally:
            portal.close()
    few = min(1000, jobs)
    with context.slurm(NAME, max_jobs=few + 100) as slurm:
        if slurm:
            submit_singles(slurm, job_script(slurm.directory), few)
            ask_slurmrestd(slurm, options.repeats, few, report)
    report.limit("portal, first load", "portal: first load KiB", "KiB", 150)
    report.limit("portal at rest, memory", "portal: MiB", "MiB", 30)
    report.limit("portal at rest, wake-ups", "portal: wake-ups/s", "1/s", 0)
    report.limit(f"a page of {jobs} waiting jobs", "portal: a page of the queue ms", "ms", 300)
    report.limit(f"the first page, {jobs} waiting jobs", "portal: the first page's data ms", "ms", 300)
    report.limit(f"{PAGES} pages that listen", f"portal: {PAGES} pages, % of a core of the daemon", "%", 5)
    report.compare(f"jobs ended, {PAGES} pages that follow them", f"portal: the same with {PAGES} pages", "portal: jobs for a second of the daemon's",
                   "without them", "jobs", budget=0.95)
    report.compare("GET jobs, a thousand of them", "portal: ms a thousand jobs", "portal: slurmrestd, ms a thousand jobs",
                   "slurmrestd", "ms", budget=5, smaller_is_better=True)
