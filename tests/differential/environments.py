"""What a batch script and the tasks of its steps find in their environment, on both systems."""
import re

from systems import Pair

JOBS = """
-N 2 -n 4
-n 1
-n 3
-N 2
-N 2 --ntasks-per-node=2
-c 2
-n 2 -c 2
--mem=300
--mem-per-cpu=100 -n 2
--gres=gpu:1
--gres=gpu:a100:2
--gpus=1
--gpus=2 -N 1
--gpus-per-node=1 -N 2 -w n[1-2]
--gpus-per-task=1 -n 2 -N 1
--cpus-per-gpu=2 --gpus=1
--exclusive -w n1
-J 'a name' --comment=hello
-p short -t 5
-a 3-4
-a 5-9:4%1
-A account --wckey=key
--ntasks-per-core=1 -n 2
--ntasks-per-socket=2 -n 2
-m cyclic -n 2 -N 2
-m plane=2 -n 2
--threads-per-core=1
--hint=nomultithread
-C fast --nice=5
-w n[1,3] -N 2
--export=NONE
--export=NIL
--export=A=1
--export=ALL,A=1,B
--requeue --open-mode=append
--overcommit -n 6 -N 1
--signal=USR1@60
--mem-bind=local
--profile=none
-o out-%j -e err-%j -i /dev/null
-k
--oversubscribe
--no-requeue --get-user-env
--licenses=matlab:1
--tmp=1
--begin=now
-D /tmp
--cpu-freq=highm1-High:performance
--cpu-freq=2000000-High:performance
-n 1 --ntasks-per-node=1 -N 1
--ntasks-per-gpu=1 --gpus=1
""".strip().splitlines()
SCRIPT = """#!/bin/bash
name={system}-$1${{SLURM_ARRAY_TASK_ID:+-$SLURM_ARRAY_TASK_ID}}
env -0 >$name.batch
srun bash -c 'env -0 >'$name'.task-$SLURM_PROCID'
"""
WANTED = re.compile(r"SLURM|SBATCH|SRUN|CUDA_|GPU_|ROCR_|PMI|ENVIRONMENT|^[AB]$|^TMPDIR$")


def read(system, directory) -> dict[str, dict[str, str]]:
    """By the place where it was found ("3.batch", "3.task-0"): the variables."""
    found = {}
    for path in sorted(directory.glob(f"{system.name}-*")):
        entries = (entry.split("=", 1) for entry in path.read_text().split("\0") if "=" in entry)
        variables = {name: value for name, value in entries if WANTED.search(name)}
        job = variables.get("SLURM_JOB_ID", "?")
        array = variables.get("SLURM_ARRAY_JOB_ID", job)
        for name, value in variables.items():
            value = re.sub(rf"(?<!\d)({job}|{array})(?!\d)", "JOB", value)
            variables[name] = value.replace(str(directory), "/work").replace(system.name, "system")
        found[path.name.removeprefix(system.name + "-")] = variables
    return found


def run_environments(pair: Pair) -> dict[str, tuple]:
    """By the options of the job: what the two systems' jobs found, in each place."""
    directory = pair.work / "environments"
    directory.mkdir()

    def on(system):
        system.clear()
        script = directory / f"{system.name}.sh"
        script.write_text(SCRIPT.format(system=system.name))
        jobs = [system.run("bash", "-c", f"sbatch --parsable {options} -o /dev/null {script} {number}", cwd=directory,
                           env={"B": "2"}) for number, options in enumerate(JOBS)]
        numbers = [done.stdout.strip() for done in jobs]
        for number in filter(None, numbers):
            system.wait_end(number, 60)
        script.unlink()
        return {options: done.stderr for options, done in zip(JOBS, jobs, strict=True)}, read(system, directory)
    (their_errors, theirs), (our_errors, ours) = pair.each(on)
    seen = {}
    for number, options in enumerate(JOBS):
        def of(found, errors):
            places = {name.split("-" if name[len(str(number))] == "-" else ".", 1)[1]: variables
                      for name, variables in found.items() if re.match(rf"{number}[-.]", name)}
            return places | {"answer": {"stderr": errors[options]}}
        seen[options] = (of(theirs, their_errors), of(ours, our_errors))
    return seen
