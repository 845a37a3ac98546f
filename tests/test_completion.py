"""Completions, as a shell asks for them."""
import shutil
import subprocess

import pytest

MINKE_ONLY = True


def completed(cluster, *words: str) -> list[str]:
    """What bash offers for the last of the words."""
    script = ('eval "$(minke completion bash)"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
              '_minke 2> /dev/null; printf "%s\\n" "${COMPREPLY[@]}"')
    done = cluster.run("bash", "-c", script, "bash", *words, check=None)
    return done.stdout.split()


def test_options(cluster):
    assert completed(cluster, "sbatch", "--arr") == ["--array="]
    assert set(completed(cluster, "sbatch", "--gpus")) == {
        "--gpus=", "--gpus-per-node=", "--gpus-per-socket=", "--gpus-per-task="}
    assert completed(cluster, "salloc", "--arr") == []
    assert completed(cluster, "srun", "--mult") == ["--multi-prog"] or completed(cluster, "srun", "--label")
    assert completed(cluster, "/some/where/srun", "-n2", "--unbuf") == ["--unbuffered"]


def test_commands_that_look(cluster):
    assert completed(cluster, "squeue", "--part") == ["--partition="]  # not its other name
    assert completed(cluster, "squeue", "-p", "") == ["main"]
    assert completed(cluster, "squeue", "--nodelist", "=", "n") == ["n1", "n2"]
    assert completed(cluster, "squeue", "-t", "RUN") == ["RUNNING"]
    assert completed(cluster, "squeue", "-n", "") == []  # a name there, nodes elsewhere


def test_values(cluster):
    assert completed(cluster, "sbatch", "-p", "") == ["main"]
    assert completed(cluster, "sbatch", "--partition", "=", "ma") == ["main"]
    assert completed(cluster, "sbatch", "--partition", "=") == ["main"]
    assert completed(cluster, "sbatch", "-w", "n") == ["n1", "n2"]
    assert completed(cluster, "sbatch", "--open-mode", "=", "ap") == ["append"]
    (cluster.work / "job.sh").write_text("")
    assert completed(cluster, "sbatch", "--output", "=", "jo") == ["job.sh"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_take_it(cluster, shell, tmp_path):
    text = cluster.run("minke", "completion", shell, check=0).stdout
    assert "sbatch" in text and "partition" in text
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    path = tmp_path / "completion"
    path.write_text(text)
    assert subprocess.run([shell, "-n", path], check=False).returncode == 0


def test_other_shells_are_refused(cluster):
    assert cluster.run("minke", "completion", "csh").returncode != 0


def test_commands_of_minke(cluster):
    assert completed(cluster, "minke", "ta") == ["tail"]
    assert {"why", "tail", "redo", "sbatch", "squeue", "cp", "help"} <= set(completed(cluster, "minke", ""))
    assert completed(cluster, "minke", "tail", "--fol") == ["--follow"]
    assert completed(cluster, "minke", "cp", "--thr") == ["--threads="]
    assert completed(cluster, "minke", "sbatch", "--arr") == ["--array="]
    assert completed(cluster, "minke", "estimate", "--for", "=", "lo") == ["lora"]
    job = cluster.submit("true", "--hold")
    assert completed(cluster, "minke", "tail", "") == [str(job)] == completed(cluster, "minke", "redo", "")
    assert completed(cluster, "/usr/bin/minke", "pau") == ["pause"]
