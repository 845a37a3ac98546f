"""A cluster that has grown: what it knew before and knows after, and what its users run on it."""
import pathlib

import pytest

import hosts
from hosts import Host, Hosts

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
UNITS = ("minke down; minke up --print-units | awk '/^# [/]/ { file = $2 } file { print >file }' && systemctl daemon-reload && "
         "systemctl enable -q --now minke")
ACCOUNT = "minke sacctmgr -i add account def-someprof && minke sacctmgr -i add user alice account=def-someprof"
PAST = ("for i in 1 2 3; do minke sbatch -c 2 -J past$i -o /dev/null --wrap 'sleep 0.3'; done; minke sbatch -J fails -o /dev/null --wrap 'exit 3'; "
        "minke sbatch --array=1-5 -J swarm -o /dev/null --wrap true")
# Numbers 1 to 9 have ended; EACH wait for each of five reasons.
WAITING = """cd; minke sbatch -o /dev/null -J gate --hold --wrap true
for i in $(seq 1 EACH); do minke sbatch -o /dev/null -J held$i --hold -t $((i + 5)) --wrap 'echo $SLURM_JOB_ID $(hostname) >>ran'; done
for i in $(seq 1 EACH); do minke sbatch -o /dev/null -J later$i --begin=now+2hours -c $((i % 2 + 1)) --wrap true; done
for i in $(seq 1 EACH); do minke sbatch -o /dev/null -J after$i -d afterok:GATE --nice=$i --wrap true; done
minke sbatch -o /dev/null -J tasks --array=1-EACH%3 --hold --wrap true"""
THEIRS = "cd; for i in $(seq 2 EACH); do minke sbatch -o /dev/null -J licensed$i -L matlab:2 --hold --mem=$((i + 10)) --wrap true; done"
ASSOCIATIONS = "format=account,user,share,maxjobs,grptres,qos,defaultqos"
QUEUE = "'%i|%j|%u|%a|%P|%l|%C|%D|%t|%r|%Y'"


def known(head: Host, before: str = "") -> dict[str, list[str]]:
    """Of the commands that show it; `before` is "minke " before it has grown."""
    def lines(command: str) -> list[str]:
        return sorted(head.run(before + command).splitlines())
    return {
        "sacct": lines("sacct -a -n -P -X -S 2020-01-01 -E now -s CD,F,CA,TO -o JobID,JobName,User,Account,State,ExitCode,Start,End,AllocCPUS,NNodes"),
        "squeue": lines(f"squeue -h -a -t PD -r -o {QUEUE}"),
        "sacctmgr assoc": lines(f"sacctmgr -nP show assoc {ASSOCIATIONS}"),
        "sacctmgr qos": lines("sacctmgr -nP show qos format=name,priority,maxwall,maxtrespu"),
        "sacctmgr user": lines("sacctmgr -nP show user format=user,defaultaccount,admin"),
        "sshare": lines("sshare -a -n -P -o Account,User,RawShares,NormShares"),
    }


def usage(head: Host, before: str = "") -> dict[str, float]:
    lines = head.run(before + "sshare -a -n -P -o Account,User,RawUsage").splitlines()
    return {f"{account.strip()} {user}": float(used or 0) for account, user, used in (line.split("|") for line in lines)}


class Grown:
    def __init__(self, made: Hosts, minke: pathlib.Path, waiting: int):
        self.hosts, self.head, self.waiting = made, made["head"], waiting
        for one in made.hosts.values():
            one.run("systemctl stop slurmd; systemctl reset-failed")  # begun by its package, without a configuration
        hosts.start_minke(self.head, minke)
        self.head.run(f"{ACCOUNT} && {UNITS}")
        self.head.until("minke status")
        self.head.run(f"cd; {PAST}", user="alice")
        self.head.until("[ -z \"$(minke squeue -h)\" ]")
        each = str(waiting // 5)
        self.head.run(WAITING.replace("GATE", "10").replace("EACH", each), user="alice")
        self.head.run(THEIRS.replace("EACH", each), user="bob")
        self.before, self.usage_before = known(self.head, "minke "), usage(self.head, "minke ")
        self.said = self.head.run("minke grow apply n1 n2")
        self.after, self.usage_after = known(self.head), usage(self.head)
        self.head.run("mkdir -p ~alice/bin && cp /usr/local/bin/minke ~alice/bin/ && chown -R alice: ~alice/bin")

    def __getitem__(self, name: str) -> Host:
        return self.hosts[name]

    def check_known(self) -> None:
        """What was known before is known after, as the commands show it."""
        assert len(self.before["squeue"]) == self.waiting and len(self.before["sacct"]) == 9
        # The partitions were down while they were brought: until the scheduler has looked again, it says that.
        self.after["squeue"] = [line.replace("|PartitionDown|", "|BeginTime|") for line in self.after["squeue"]]
        for command, lines in self.before.items():
            assert self.after[command] == lines, command
        for whose, used in self.usage_before.items():
            assert self.usage_after[whose] == pytest.approx(used, rel=0.02, abs=2), whose
        assert "all equal" in self.head.run("minke grow check")

    def check_held_jobs_run(self, count: int) -> None:
        """Under their numbers, on the new machines."""
        nodes = [("n1", "n2")[i % 2] for i in range(count)]
        numbers = [line.split("|")[0] for line in self.before["squeue"] if "|held" in line][:count]
        for number, node in zip(numbers, nodes):
            self.head.run(f"scontrol update jobid={number} reqnodelist={node}; scontrol release {number}", user="alice")
        for number in numbers:
            assert self.ended(number) == "COMPLETED"
        assert sorted(self.read("ran").splitlines()) == sorted(f"{number} {node}" for number, node in zip(numbers, nodes))

    def submit(self, script: str, *options: str, user: str = "alice") -> str:
        """The number of a job whose script the shared home directory has."""
        return self.head.run(f"cd; sbatch --parsable {' '.join(options)} {script}", user=user).strip()

    def home(self, name: str, text: str) -> str:
        self.head.run(f"cd; cat >{name} <<'END OF IT'\n{text}END OF IT\nchmod 755 {name}", user="alice")
        return name

    def read(self, name: str) -> str:
        return self.head.run(f"cd; [ ! -e {name} ] || cat {name}", user="alice")

    def ended(self, job: str, seconds: float = 120) -> str:
        """Its state when it has ended."""
        self.head.until(f"scontrol show job {job}; [ -z \"$(squeue -h -j {job} 2>/dev/null)\" ] && sacct -n -X -P -j {job} -o State | grep -vqE 'RUNNING|PENDING|COMPLETING'", seconds)
        return self.head.run(f"sacct -n -X -P -j {job} -o State").split("\n")[0]

    def clear(self) -> None:
        self.head.run("scancel -u alice; scancel -u bob")
        self.head.until("[ -z \"$(squeue -h)\" ]")
