"""What must run over several machines, on a cluster that has grown: a program of MPI's, training with torch, an array of
a thousand, a chain, and data that is staged once on each node. And what is known before and after."""
import json
import re

import pytest

from larger import EXAMPLES

pytestmark = [pytest.mark.xdist_group("grow"), pytest.mark.timeout(900)]


@pytest.fixture
def cluster(grown):
    yield grown
    grown.clear()


def test_people_their_past_and_waiting_jobs_are_the_same_before_and_after(grown):
    """As the commands show them; the first test on this cluster."""
    grown.check_known()
    grown.check_held_jobs_run(6)
    grown.clear()


def example(cluster, name: str) -> None:
    for path in (EXAMPLES / "parallel").iterdir():
        cluster.home(path.name, path.read_text())
    job = cluster.submit(name, "-o", "example.out", "-w", "n1,n2")
    cluster.said = cluster.ended(job) + cluster.read("example.out")


def test_a_program_of_mpis_runs_over_two_hosts_by_pmix(cluster):
    example(cluster, "train_mpi.sh")
    assert "4 processes, loss" in cluster.said, cluster.said
    assert json.loads(cluster.read("result.json"))["processes"] == 4
    told = cluster.head.run("cd; srun --mpi=pmix -w n1,n2 --ntasks-per-node=2 python3 -c 'from mpi4py import MPI; w = MPI.COMM_WORLD; "
                            "print(w.rank, w.size, w.allreduce(w.rank), MPI.Get_processor_name())'", user="alice")
    assert sorted(told.split("\n"))[1:] == ["0 4 6 n1", "1 4 6 n1", "2 4 6 n2", "3 4 6 n2"]


def test_torch_trains_over_two_hosts(cluster):
    if "no" in cluster.head.run("python3 -c 'import torch' 2>/dev/null || echo no"):
        pytest.skip("these hosts have no torch; --long has them made with it")
    example(cluster, "--export=ALL,PYTHON=python3,USE_LIBUV=0 train_torch.sh")
    assert "2 processes on processors, loss" in cluster.said, cluster.said
    assert json.loads(cluster.read("torch.json"))["processes"] == 2


def test_each_task_of_a_large_array_runs_once(cluster, request):
    count = 1000 if request.config.getoption("--long") else 60
    job = cluster.head.run(f"cd; minke sbatch --parsable --array=1-{count} -t 5 -o /dev/null --wrap 'echo $SLURM_ARRAY_TASK_ID $(hostname) >>array'", user="alice").strip()
    assert cluster.ended(job, 400) == "COMPLETED"
    lines = cluster.read("array").split("\n")[:-1]
    assert sorted(int(line.split()[0]) for line in lines) == list(range(1, count + 1))
    assert {line.split()[1] for line in lines} >= {"head", "n1"}
    assert cluster.head.run(f"sacct -n -X -P -j {job} -o State | sort | uniq -c").split() == [str(count), "COMPLETED"]


def test_a_chain_goes_on_on_another_host(cluster):
    cluster.home("work.sh", "#!/bin/bash\necho part $MINKE_CHAIN_PART on $(hostname)\n[ $MINKE_CHAIN_PART = 2 ] || exit 75\n")
    job = re.search(r"batch job (\d+)", cluster.head.run("cd; bin/minke chain --total 1h --each 10m -w n1 -o chain.out work.sh", user="alice"))[1]
    cluster.head.until("grep -q 'the work goes on in part 2' ~alice/chain.out")
    cluster.head.until(f"[ \"$(squeue -h -j {job} -o %t)\" = PD ]")
    # Slurm holds back for two minutes what was requeued.
    cluster.head.run(f"scontrol update jobid={job} starttime=now reqnodelist=n2")
    assert cluster.ended(job) == "COMPLETED"
    parts = [line for line in cluster.read("chain.out").splitlines() if line.startswith("part ")]
    assert parts == ["part 1 on n1", "part 2 on n2"]


def test_a_data_set_is_staged_once_on_each_node(cluster):
    cluster.head.run("cd; mkdir -p cats && seq 1000 >cats/numbers && tar cf cats.tar cats && rm -r cats", user="alice")
    cluster.home("stage.sh", "#!/bin/bash\nsrun --ntasks-per-node=1 bin/minke stage cats.tar\n"
                 "srun --ntasks-per-node=1 sh -c 'echo $(hostname) $(wc -l <$SLURM_TMPDIR/cats/numbers)'\n")
    said = []
    for _ in range(2):
        assert cluster.ended(cluster.submit("stage.sh", "-t 5 -N2 -w n1,n2 -o staged.out")) == "COMPLETED"
        said.append(cluster.read("staged.out"))
    for text in said:
        assert {"n1 1000", "n2 1000"} <= set(text.splitlines()), text
    assert [text.count("it was there") for text in said] == [0, 2], said
    # Nobody else sees it, and nothing of the jobs' own is left.
    for name in ("n1", "n2"):
        left = cluster[name].run("ls -ln /var/lib/slurm/tmp | tail -n +2").splitlines()
        assert len(left) == 1 and left[0].startswith("drwx------") and "stage-cache-2001" in left[0], left
