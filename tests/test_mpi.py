"""MPI programs in steps: Debian's Open MPI and MPICH, compiled here, over several virtual nodes."""
import contextlib
import re
import shutil
import subprocess
import sys

import pytest

from cluster import Machine, Ports

PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  int rank, size, node_size, sum = 0, word = 0;
  MPI_Comm node;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 1 && rank == 1) MPI_Abort(MPI_COMM_WORLD, atoi(argv[1]));
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) word = 4711;
  MPI_Bcast(&word, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &node_size);
  if (argc > 1) MPI_Barrier(MPI_COMM_WORLD);
  printf("rank %d of %d: sum %d word %d here %d\n", rank, size, sum, word, node_size);
  MPI_Finalize();
  return 0;
}
"""
# Root may run these tests; loopback is the network between virtual nodes.
OPEN_MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "PRTE_ALLOW_RUN_AS_ROOT": "1", "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    directory = tmp_path_factory.mktemp("mpi")
    (directory / "program.c").write_text(PROGRAM)
    made = {}
    for kind in ("openmpi", "mpich"):
        compiler = shutil.which(f"mpicc.{kind}")
        assert compiler, f"mpicc.{kind} is missing: ./dev setup test"
        made[kind] = directory / kind
        subprocess.run([compiler, "-o", made[kind], directory / "program.c"], check=True)
    return made


def lines(size: int, here: list[int]) -> list[str]:
    total = size * (size - 1) // 2
    return [f"rank {rank} of {size}: sum {total} word 4711 here {here[rank]}" for rank in range(size)]


PAIRS = [("mpich", "pmi2"), ("openmpi", "pmix")]


@pytest.mark.parametrize("kind, mpi", PAIRS)
def test_program_over_two_nodes(cluster, programs, kind, mpi):
    done = cluster.run("srun", f"--mpi={mpi}", "-N2", "-n4", programs[kind], env=OPEN_MPI, check=0)
    assert sorted(done.stdout.splitlines()) == lines(4, [2, 2, 2, 2]), done


@pytest.mark.parametrize("kind, mpi", PAIRS)
def test_program_in_a_batch_job(cluster, programs, kind, mpi):
    job = cluster.submit(f"srun --mpi={mpi} {programs[kind]}; srun --mpi={mpi} -n1 {programs[kind]}",
                         "--ntasks=3", "--nodes=2", env=OPEN_MPI)
    said = [line for line in cluster.output(job).splitlines() if line.startswith("rank")]
    assert sorted(said[:3]) == lines(3, [2, 2, 1]) and said[3:] == lines(1, [1])


@pytest.mark.minke_only
@pytest.mark.parametrize("kind, mpi", PAIRS)
def test_one_world_over_components(cluster, programs, kind, mpi):
    """Of a heterogeneous job, and of a step whose parts differ within an ordinary one; also without --mpi."""
    program = programs[kind]
    done = cluster.run("srun", f"--mpi={mpi}", "-n1", program, ":", "-n2", program, env=OPEN_MPI, check=0)
    assert sorted(done.stdout.splitlines()) == lines(3, [1, 2, 2]), done
    job = cluster.submit(f"srun --het-group=0,1 {program}; srun --het-group=1 {program}", "-n2", ":", "-n1", env=OPEN_MPI)
    said = [line for line in cluster.output(job).splitlines() if line.startswith("rank")]
    assert sorted(said[:3]) == lines(3, [2, 2, 1]) and said[3:] == lines(1, [1])
    job = cluster.submit(f"srun --mpi={mpi} -N1 -n1 {program} : -N1 -n2 {program}", "-N2", "-n4", env=OPEN_MPI)
    said = [line for line in cluster.output(job).splitlines() if line.startswith("rank")]
    assert sorted(said) == lines(3, [1, 2, 2])
    aborted = cluster.run("srun", f"--mpi={mpi}", "-n1", program, "7", ":", "-n1", program, "7", env=OPEN_MPI)
    assert aborted.returncode == 7, aborted


@pytest.mark.minke_only
@pytest.mark.parametrize("kind", ["mpich", "openmpi"])
def test_what_the_program_is_linked_with(cluster, programs, kind):
    job = cluster.submit(f"srun {programs[kind]}; srun --mpi=none true", "--ntasks=3", "--nodes=2", env=OPEN_MPI)
    said = [line for line in cluster.output(job).splitlines() if line.startswith("rank")]
    assert sorted(said) == lines(3, [2, 2, 1])


@pytest.mark.minke_only
def test_interpreters_are_offered_pmix(cluster):
    """What a script will load nobody knows; people run mpi4py by `srun python script.py`."""
    script = cluster.script("#!/usr/bin/env python3\nimport os\nprint(os.environ.get('PMIX_RANK'))\n", "rank.py")
    script.chmod(0o755)
    for program in (["python3", script], [script]):
        assert sorted(cluster.run("srun", "-n2", *program, check=0).stdout.split()) == ["0", "1"]
        assert cluster.run("srun", "-n1", *program, check=0).stdout == "None\n"
    assert cluster.run("srun", "--mpi=none", "-n2", "python3", script, check=0).stdout == "None\nNone\n"


@pytest.mark.minke_only
@pytest.mark.machine(extra='[[partition]]\nname = "dark"\nnodes = "n[1-2]"\noffline = true\n')
@pytest.mark.parametrize("kind", ["mpich", "openmpi"])
def test_nodes_without_a_network(cluster, programs, kind):
    """Loopback is all that there is: on offline partitions, and where the machine is connected to nothing."""
    job = cluster.submit(f"srun {programs[kind]}", "--ntasks=4", "--nodes=2", "-p", "dark", env=OPEN_MPI)
    text = cluster.output(job)
    if "no network namespace" in text:
        pytest.skip(f"this machine cannot hide the network: {text}")
    assert sorted(line for line in text.splitlines() if line.startswith("rank")) == lines(4, [2, 2, 2, 2]), text


@pytest.mark.minke_only
def test_the_clusters_default(new_cluster, programs):
    cluster = new_cluster("pmix", Machine(nodes=2, cpus=2, settings='mpi_default = "pmix"'))
    assert re.search(r"MpiDefault += pmix", cluster.run("scontrol", "show", "config").stdout)
    done = cluster.run("srun", "-n2", programs["openmpi"], env=OPEN_MPI, check=0)
    assert sorted(done.stdout.splitlines()) == lines(2, [2, 2])
    job = cluster.submit(f"srun {programs['openmpi']}; srun --mpi=none printenv SLURM_MPI_TYPE", "--ntasks=2",
                         env=OPEN_MPI)
    said = cluster.output(job).splitlines()
    assert sorted(said[:2]) == lines(2, [2, 2]) and said[2:] == ["none", "none"]
    job = cluster.sbatch("--wrap=echo $SLURM_MPI_TYPE", env={"SLURM_MPI_TYPE": "pmi2"})
    assert cluster.output(job) == "pmi2\n"


@pytest.mark.parametrize("kind, mpi", PAIRS)
def test_a_rank_that_aborts_ends_the_step(cluster, programs, kind, mpi):
    done = cluster.run("srun", f"--mpi={mpi}", "-n3", programs[kind], "7", env=OPEN_MPI, timeout=50)
    assert done.returncode != 0 and "rank 0" not in done.stdout


@pytest.mark.parametrize("kind, mpi", PAIRS)
def test_a_rank_that_dies_ends_the_step(cluster, programs, kind, mpi):
    """Not finalised, no word said: the others would wait for ever."""
    (cluster.work / "dies.c").write_text("""
#include <mpi.h>
#include <signal.h>
#include <unistd.h>
int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 1) kill(getpid(), SIGKILL);
  for (;;) sleep(1);
}
""")
    subprocess.run([f"mpicc.{kind}", "-o", cluster.work / "dies", cluster.work / "dies.c"], check=True)
    done = cluster.run("srun", f"--mpi={mpi}", "-n2", cluster.work / "dies", env=OPEN_MPI, timeout=50)
    assert done.returncode in (137, 143) and "task 1: Killed" in done.stderr


def test_types(cluster):
    done = cluster.run("srun", "--mpi=list", check=0)
    types = (done.stdout + done.stderr).split()
    assert {"none", "pmi2", "pmix"} <= set(types)
    done = cluster.run("srun", "--mpi=lam", "true")
    assert done.returncode == 1
    assert "srun: error: Invalid MPI type 'lam', --mpi=list for acceptable types\n" in done.stderr


def test_variables_of_pmi(cluster):
    done = cluster.run("srun", "--mpi=pmi2", "-n2", "sh", "-c", "echo $PMI_RANK $PMI_SIZE $SLURM_MPI_TYPE ${PMI_FD:+fd}",
                       check=0)
    assert sorted(done.stdout.splitlines()) == ["0 2 pmi2 fd", "1 2 pmi2 fd"]


@pytest.mark.parametrize("kind, launcher", [("mpich", "mpiexec.hydra"), ("openmpi", "mpirun.openmpi")])
def test_mpirun_in_an_allocation_finds_its_nodes(cluster, programs, kind, launcher):
    job = cluster.submit(f"{launcher} {programs[kind]}", "--ntasks=4", "--nodes=2", env=OPEN_MPI)
    said = [line for line in cluster.output(job).splitlines() if line.startswith("rank")]
    assert len(said) == 4 and all("of 4: sum 6 word 4711" in line for line in said), cluster.output(job)


RENDEZVOUS = """
import os, socket, sys, time
rank, size = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"])
address = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
if rank == 0:
    server = socket.create_server(address)
    peers = [server.accept()[0] for _ in range(size - 1)]
    ranks = sorted(int(peer.recv(16)) for peer in peers)
    print("all there:", ranks)
else:
    for _ in range(2400):
        try:
            peer = socket.create_connection(address)
            break
        except OSError:
            time.sleep(0.05)
    peer.sendall(str(rank).encode())
"""


@pytest.mark.minke_only
def test_rendezvous_as_torchrun_does(cluster):
    """MASTER_ADDR from scontrol show hostnames; a virtual node's name does not resolve, so the job maps it."""
    (cluster.work / "meet.py").write_text(RENDEZVOUS)
    with contextlib.closing(Ports()) as ports:
        with_port = f"export MASTER_PORT={ports.take()}\n"
        job = cluster.submit("nodes=($(scontrol show hostnames $SLURM_JOB_NODELIST))\n" + with_port +
                             "getent hosts ${nodes[0]} > /dev/null && export MASTER_ADDR=${nodes[0]} "
                             "|| export MASTER_ADDR=127.0.0.1\n"
                             f"echo ${{nodes[@]}}; srun {sys.executable} meet.py", "--nodes=2", "--ntasks=4")
        assert cluster.output(job) == "n1 n2\nall there: [1, 2, 3]\n"
