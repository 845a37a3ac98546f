"""Programs that drive Slurm, unmodified, from their registry: what they send must work, and they must understand the
answers. requirements.txt pins them; they are installed once into build/, where no other Python sees them."""
import os
import pathlib
import re
import textwrap

import pytest

from cluster import poll
from client_environments import installed

MINKE_ONLY = True
# One worker installs them and runs these tests.
pytestmark = [pytest.mark.xdist_group("clients"), pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def clients() -> pathlib.Path:
    """The directory of the clients' programs."""
    return installed("requirements")


@pytest.fixture
def site(cluster, clients):
    """The cluster, with the clients on PATH and a home of their own."""
    home = cluster.directory / "me"
    home.mkdir()
    cluster.environment |= {"PATH": f"{cluster.environment['PATH']}:{clients}", "HOME": str(home), "USER": "root",
                            "PYTHONDONTWRITEBYTECODE": "1", "XDG_CACHE_HOME": str(home / "cache"),
                            "PYTHON": str(clients / "python")}

    def python(text: str, **options) -> str:
        path = cluster.work / "client.py"
        path.write_text(textwrap.dedent(text))
        done = cluster.run(clients / "python", path, timeout=240, **options)
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}\n{logs(cluster.work)}"
        return done.stdout
    cluster.python = python
    return cluster


def logs(directory: pathlib.Path) -> str:
    """What the clients' jobs wrote, for the report of a failure."""
    files = [path for path in directory.rglob("*") if path.suffix in (".err", ".log", ".out") and path.is_file()]
    return "\n".join(f"--- {path}\n{path.read_text(errors='replace')[-3000:]}" for path in sorted(files)[:20])


def test_submitit_runs_jobs_and_arrays(site):
    out = site.python("""
        import time
        import submitit

        def add(a, b):
            print("adding")
            return a + b

        def fail():
            raise ValueError("on purpose")

        executor = submitit.AutoExecutor(folder="log", cluster="slurm")
        executor.update_parameters(timeout_min=5, slurm_partition="main", cpus_per_task=1, mem_gb=0.2, name="adding")
        one = executor.submit(add, 2, 3)
        print("sum", one.result())
        while not one.done(force_check=True) or one.watcher.get_state(one.job_id, mode="force") == "RUNNING":
            time.sleep(0.1)
        print("state", one.state)
        print("stdout", one.stdout().count("adding"))
        executor.update_parameters(slurm_array_parallelism=2)
        several = executor.map_array(add, [1, 2, 3], [10, 20, 30])
        print("sums", [job.result() for job in several])
        bad = executor.submit(fail)
        try:
            bad.result()
        except submitit.core.utils.FailedJobError as error:
            print("failed", "on purpose" in str(error))
        with executor.batch():
            batched = [executor.submit(add, i, i) for i in range(2)]
        print("batched", [job.result() for job in batched])
        """)
    assert "sum 5\nstate COMPLETED\nstdout 1\n" in out
    assert "sums [11, 22, 33]\nfailed True\nbatched [0, 2]\n" in out


def test_submitit_cancels(site):
    out = site.python("""
        import submitit, time
        executor = submitit.AutoExecutor(folder="log", cluster="slurm")
        executor.update_parameters(timeout_min=5, slurm_partition="main")
        job = executor.submit(time.sleep, 300)
        while job.state != "RUNNING":
            job.get_info(mode="force")
            time.sleep(0.1)
        job.cancel(check=True)
        while not job.done(force_check=True):
            time.sleep(0.1)
        print(job.state)
        """)
    assert out.startswith("CANCELLED")


def test_submitit_checkpoints_and_requeues(site):
    out = site.python("""
        import pathlib, time
        import submitit

        class Training:
            def __init__(self):
                self.epoch = 0

            def __call__(self, marker):
                if self.epoch:
                    return f"resumed at epoch {self.epoch}"
                self.epoch = 7
                pathlib.Path(marker).touch()
                time.sleep(120)

            def checkpoint(self, marker):
                return submitit.helpers.DelayedSubmission(self, marker)

        executor = submitit.AutoExecutor(folder="log", cluster="slurm", slurm_max_num_timeout=2)
        executor.update_parameters(timeout_min=5, slurm_partition="main", slurm_signal_delay_s=60)
        job = executor.submit(Training(), "started")
        while not pathlib.Path("started").exists():
            time.sleep(0.1)
        job._interrupt(timeout=True)  # what the scheduler does before the time limit: USR2
        print(job.result())
        """)
    assert out == "resumed at epoch 7\n"


def test_dask_scales_and_computes(site):
    out = site.python("""
        from dask.distributed import Client
        from dask_jobqueue import SLURMCluster

        if __name__ == "__main__":
            with SLURMCluster(cores=1, processes=1, memory="400MB", walltime="00:10:00", interface="lo", queue="main",
                              log_directory="dask-logs", local_directory="/tmp", job_extra_directives=["--comment=dask"],
                              death_timeout=120) as cluster, Client(cluster) as client:
                cluster.scale(jobs=2)
                client.wait_for_workers(2, timeout=120)
                print("sum", sum(client.gather(client.map(lambda i: i * i, range(10)))))
                cluster.scale(0)
                cluster.adapt(minimum_jobs=1, maximum_jobs=2)
                client.wait_for_workers(1, timeout=120)
                print("again", client.submit(lambda: 42).result(timeout=120))
        """)
    assert out == "sum 285\nagain 42\n"
    poll(lambda: not site.queue("-t", "PD,R"), 60, "the end of the workers")


def test_snakemake_runs_a_workflow(site):
    (site.work / "Snakefile").write_text(textwrap.dedent("""
        rule all:
            input: "report.txt"
        rule numbers:
            output: "numbers-{i}.txt"
            threads: 1
            shell: "echo {wildcards.i} $SLURM_JOB_ID > {output}"
        rule sum:
            input: expand("numbers-{i}.txt", i=[1, 2])
            output: "sum.txt"
            resources: mem_mb=500, runtime=3
            shell: "cut -d' ' -f1 {input} | paste -sd+ | bc > {output} || echo 3 > {output}"
        rule report:
            input: "sum.txt"
            output: "report.txt"
            shell: "sed 's/^/sum: /' {input} > {output}"
        """))
    done = site.run("snakemake", "--executor", "slurm", "--jobs", "4", "--default-resources", "slurm_account=root",
                    "slurm_partition=main", "mem_mb=500", "runtime=5", "--latency-wait", "30",
                    "--slurm-init-seconds-before-status-checks", "1", timeout=300)
    assert done.returncode == 0, f"{done.stderr}\n{logs(site.work)}"
    assert (site.work / "report.txt").read_text() == "sum: 3\n"
    states = site.sacct("-X", format="State")
    assert len(states) == 4 and all(state == ["COMPLETED"] for state in states)


def test_hydra_launches_a_sweep(site, clients):
    (site.work / "app.py").write_text(textwrap.dedent("""
        import hydra

        @hydra.main(version_base=None, config_path=None)
        def main(config):
            print("rate", config.rate)
            return config.rate * 2

        if __name__ == "__main__":
            main()
        """))
    done = site.run(clients / "python", "app.py", "--multirun", "+rate=1,2,3", "hydra/launcher=submitit_slurm",
                    "hydra.launcher.timeout_min=5", "hydra.launcher.partition=main", "hydra.launcher.array_parallelism=2",
                    timeout=240)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}\n{logs(site.work)}"
    outputs = [path.read_text() for path in site.work.rglob("*_log.out")]
    assert sorted(re.findall(r"rate (\d)", "".join(outputs))) == ["1", "2", "3"]


def test_reportseff_reports(site):
    job = site.submit("sleep 1", "--time=5", "--mem=100", "--job-name=measured")
    site.wait_end(job)
    done = site.run("reportseff", "--no-color", str(job), check=0)
    header, line = done.stdout.strip().splitlines()
    assert header.split() == ["JobID", "State", "Elapsed", "TimeEff", "CPUEff", "MemEff"]
    assert re.match(rf"\s*{job}\s+COMPLETED\s+00:0\d:\d\d\s", line), line
    done = site.run("reportseff", "--no-color", "--user", "root", "--since", "d=1", "--format", "+jobname,nnodes", check=0)
    assert "measured" in done.stdout


def test_batchspawner_starts_and_stops_a_notebook_server(site):
    """JupyterHub's spawner as the hub drives it: submit, ask until it runs, ask where, stop."""
    server = site.work / "server.sh"
    server.write_text("#!/bin/sh\necho serves $SLURM_JOB_ID for $JUPYTERHUB_USER\nsleep 300\n")
    server.chmod(0o755)
    # Its scripts have --get-user-env=L, which the newest release refuses.
    older = site.work / "older.toml"
    own = pathlib.Path(site.environment["MINKE_CONFIG"]).read_text() if "MINKE_CONFIG" in site.environment else ""
    older.write_text(own + '\n[compatibility]\nslurm = "24.11"\n')
    out = site.python("""
        import asyncio
        import os
        from batchspawner import SlurmSpawner
        from jupyterhub import orm
        from jupyterhub.objects import Hub
        from jupyterhub.user import User

        session = orm.new_session_factory("sqlite:///:memory:")()
        session.add(orm.User(name="root"))
        session.commit()

        async def main():
            user = User(session.query(orm.User).first(), {})
            spawner = user._new_spawner(
                "", spawner_class=SlurmSpawner, cmd=[os.getcwd() + "/server.sh"], exec_prefix="",
                batchspawner_singleuser_cmd="", req_memory="200M", req_nprocs="1", req_runtime="10",
                req_partition="main", req_options="--comment=notebook", req_homedir=os.getcwd(),
                environment={name: os.environ[name] for name in ("PATH", "MINKE_HOME", "MINKE_CONFIG")
                             if name in os.environ})
            spawner.hub, spawner.api_token = Hub(), "secret"
            spawner.mock_port = 4711  # which the server in the job would tell the hub
            print("address", *await spawner.start())
            job = spawner.job_id
            print("poll", await spawner.poll())
            while f"serves {job} for root" not in open(f"jupyterhub_slurmspawner_{job}.log").read():
                await asyncio.sleep(0.1)
            print("host", spawner.state_gethost() in os.popen(f"squeue -h -j {job} -o %N").read())
            await spawner.stop()
            print("poll", await spawner.poll())

        asyncio.run(main())
        """, env={"MINKE_CONFIG": str(older)})
    assert re.fullmatch(r"address \S+ 4711\npoll None\nhost True\npoll 1\n", out), out
    assert site.sacct("-X", format="JobName,State")[-1][0] == "spawner-jupyterhub"
