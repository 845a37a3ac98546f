"""Accounts: sacctmgr, limits, multifactor priority and fair share, as users and administrators meet them."""
import getpass
import os
import pty

import pytest

from cluster import Machine, poll

pytestmark = pytest.mark.minke_only

ENFORCED = """
[accounting]
enforce = ["limits", "qos"]

[priority]
type = "multifactor"
weight_fair_share = 100000
weight_qos = 10000
calc_period = 1
"""
USER = getpass.getuser()


def sacctmgr(cluster, *words):
    return cluster.run("sacctmgr", "-i", *words)


@pytest.fixture
def shared(new_cluster):
    cluster = new_cluster("one", Machine(nodes=1, cpus=4, memory=4000, extra=ENFORCED))
    for words in (("add", "account", "physics", "fairshare=3"), ("add", "account", "theory", "parent=physics"),
                  ("add", "account", "chem", "fairshare=1"), ("add", "user", USER, "account=theory,chem")):
        assert sacctmgr(cluster, *words).returncode == 0, words
    return cluster


def test_a_default_account_is_one_of_the_users_accounts(shared):
    """Also where account= leaves it out, as in Slurm. One that does not exist is none."""
    associations = lambda name: shared.run("sacctmgr", "-nP", "show", "assoc", f"user={name}", "format=account").stdout.split()
    default = lambda name: shared.run("sacctmgr", "-nP", "show", "user", name, "format=defaultaccount", check=0).stdout.strip()
    assert sacctmgr(shared, "add", "user", "bin", "defaultaccount=physics", "account=theory,chem").returncode == 0
    assert sorted(associations("bin")) == ["chem", "physics", "theory"] and default("bin") == "physics"
    said = sacctmgr(shared, "add", "user", "daemon", "defaultaccount=nosuch", "account=chem").stdout
    assert "No account nosuch on cluster" in said
    assert associations("daemon") == ["chem"] and default("daemon") == "chem"


def test_accounts_are_in_lower_case(new_cluster):
    """Whatever a job names, with accounts and without."""
    cluster = new_cluster("small", Machine(nodes=1, cpus=4, memory=4000))
    job = cluster.submit("true", "--account=MY_Acct", "--hold")
    assert cluster.job(job)["Account"] == "my_acct"
    cluster.run("scontrol", "update", f"jobid={job}", "account=Other", check=0)
    assert cluster.job(job)["Account"] == "other" and cluster.queue("-A", "other", format="%i") == [str(job)]


def test_shares_follow_from_allocations(new_cluster):
    """The unallocated cores of four are shared by those who have jobs; fair share goes by it at once."""
    extra = ENFORCED.replace("[priority]", 'shares = "allocations"\n\n[priority]')
    cluster = new_cluster("one", Machine(nodes=1, cpus=4, memory=4000, extra=extra))
    for words in (("add", "account", "rrg-a"), ("add", "account", "def-b,def-c", "fairshare=7"),
                  ("add", "user", USER, "account=rrg-a,def-b,def-c"),
                  ("modify", "account", "rrg-a", "set", "coreyears=3")):
        assert sacctmgr(cluster, *words).returncode == 0, words

    def shares():
        lines = cluster.run("sshare", "-anP", "-o", "account,user,rawshares").stdout.splitlines()
        rows = [line.strip().split("|") for line in lines]
        return {account: int(number) for account, user, number in rows if not user and account != "root"}
    assert shares() == {"rrg-a": 3000, "def-b": 1, "def-c": 1}
    job = cluster.submit("sleep 600", "-A", "def-b")
    cluster.wait_state(job, "RUNNING")
    assert shares() == {"rrg-a": 3000, "def-b": 1000, "def-c": 1}
    assert sacctmgr(cluster, "modify", "account", "rrg-a", "set", "coreyears=2").returncode == 0
    assert shares() == {"rrg-a": 2000, "def-b": 2000, "def-c": 1}
    assert "rrg-a                              2.0000     0.0 %" in cluster.run("minke", "usage", check=0).stdout
    assert sacctmgr(cluster, "modify", "account", "rrg-a", "set", "coreyears=-1").returncode == 0
    assert shares() == {"rrg-a": 1, "def-b": 7, "def-c": 7}


def reason(cluster, job):
    return cluster.run("squeue", "-h", "-j", job, "-o", "%r").stdout.strip()


def test_the_configuration_says_so(shared, new_cluster):
    def listing(cluster):
        lines = cluster.run("scontrol", "show", "config").stdout.splitlines()
        return {name.strip(): value.strip() for name, _, value in (line.partition("=") for line in lines)}
    kept = listing(shared)
    assert kept["AccountingStorageEnforce"] == "associations,limits,qos"
    assert kept["PriorityType"] == "priority/multifactor"
    assert (kept["PriorityWeightFairShare"], kept["PriorityWeightQOS"]) == ("100000", "10000")
    assert (kept["PriorityCalcPeriod"], kept["PriorityDecayHalfLife"]) == ("00:00:01", "7-00:00:00")
    plain = listing(new_cluster("plain", Machine(nodes=1, cpus=4)))
    assert plain["AccountingStorageEnforce"] == "none" and plain["PriorityType"] == "priority/basic"
    assert "PriorityWeightAge" not in plain


def test_changes_last(shared):
    assert sacctmgr(shared, "modify", "user", USER, "where", "account=chem", "set", "maxjobs=3",
                    "grptres=cpu=4,mem=2G").returncode == 0
    before = shared.run("sacctmgr", "-P", "show", "assoc", "tree").stdout
    assert "  theory|" in before and "cpu=4,mem=2G" in before
    shared.run("minke", "down", "--keep-jobs")
    assert shared.run("sacctmgr", "-P", "show", "assoc", "tree").stdout == before
    assert sacctmgr(shared, "delete", "account", "chem").returncode == 0
    assert "chem" not in shared.run("sacctmgr", "-P", "show", "assoc").stdout
    assert sacctmgr(shared, "delete", "account", "chem").returncode == 1


def test_a_name_may_have_blanks(shared, tmp_path):
    for words in (("add", "account", "two words,b c"), ("add", "qos", "q w"), ("add", "user", USER, "account=two words"),
                  ("modify", "user", USER, "set", "qos+=q w")):
        assert sacctmgr(shared, *words).returncode == 0, words
    job = shared.submit("true", "-A", "two words", "--qos=q w")
    shared.wait_end(job)
    assert shared.run("sacct", "-X", "-n", "-P", "-j", job, "-o", "account,qos").stdout == "two words|q w\n"
    file = tmp_path / "blanks.cfg"
    cluster = shared.run("sacctmgr", "-nP", "show", "cluster", "format=cluster").stdout.strip()
    shared.run("sacctmgr", "dump", cluster, f"file={file}", check=0)
    assert "Account - 'two words':" in file.read_text()
    assert sacctmgr(shared, "remove", "account", "b c").returncode == 0
    assert sacctmgr(shared, "load", f"file={file}").returncode == 0
    listed = shared.run("sacctmgr", "-nP", "show", "account", "format=account").stdout.splitlines()
    assert {"two words", "b c"} < set(listed)


def test_dump_and_load(shared, tmp_path):
    file = tmp_path / "accounts.cfg"
    cluster = shared.run("sacctmgr", "-nP", "show", "cluster", "format=cluster").stdout.strip()
    dumped = shared.run("sacctmgr", "dump", cluster, f"file={file}", check=0)
    assert f"sacctmgr: Cluster - '{cluster}':" in dumped.stderr
    assert sacctmgr(shared, "load", f"file={file}").stdout.startswith(f"For cluster {cluster}\n ")
    again = sacctmgr(shared, "load", f"file={file}")
    assert (again.returncode, again.stdout) == (0, f"For cluster {cluster}\n Nothing new added.\n")
    (tmp_path / "one.cfg").write_text(f"Cluster - '{cluster}':Classification=capacity\n")
    assert "\nClassification: Capacity\n" in sacctmgr(shared, "load", f"file={tmp_path}/one.cfg").stdout
    other = shared.run("sacctmgr", "dump", "nosuch", f"file={file}.other")
    assert (other.returncode, other.stderr) == (1, " Cluster nosuch doesn't exist.\n")
    before = shared.run("sacctmgr", "-P", "show", "assoc").stdout
    assert sacctmgr(shared, "delete", "account", "physics").returncode == 0
    assert sacctmgr(shared, "load", f"file={file}").returncode == 0
    assert shared.run("sacctmgr", "-P", "show", "assoc").stdout == before


@pytest.mark.parametrize("words, reason", [
    (("archive", "dump"), "minke accounting export"), (("show", "stats"), "sdiag"), (("clear", "stats"), "no slurmdbd"),
    (("shutdown",), "no slurmdbd")])
def test_what_only_a_slurmdbd_has(shared, words, reason):
    refused = sacctmgr(shared, *words)
    assert refused.returncode == 1 and reason in refused.stderr and not refused.stdout


def test_who_may_charge_what(shared):
    refused = shared.run("sbatch", "-A", "physics", "--wrap=true")
    assert refused.returncode == 1
    assert "Invalid account or account/partition combination specified" in refused.stderr
    refused = shared.run("sbatch", "-A", "chem", "--qos=nosuch", "--wrap=true")
    assert "Invalid qos specification" in refused.stderr
    job = shared.submit("true", "-A", "theory")
    shared.wait_end(job)
    assert shared.run("sacct", "-nXPj", job, "-o", "account,qos").stdout.strip() == "theory|normal"


def test_limits_on_numbers(shared):
    assert sacctmgr(shared, "modify", "user", USER, "where", "account=chem", "set", "maxjobs=1",
                    "maxsubmit=2").returncode == 0
    first = shared.submit("sleep 600", "-A", "chem")
    shared.wait_state(first, "RUNNING")
    second = shared.submit("true", "-A", "chem")
    poll(lambda: reason(shared, second) == "AssocMaxJobsLimit", 10, "the reason")
    refused = shared.run("sbatch", "-A", "chem", "--wrap=true")
    assert refused.returncode == 1 and "AssocMaxSubmitJobLimit" in refused.stderr
    assert "Job violates accounting/QOS policy" in refused.stderr
    other = shared.submit("true", "-A", "theory")  # what is held up by a limit holds nobody up
    shared.wait_end(other)
    shared.run("scancel", first)
    shared.wait_end(second)
    # Components count one by one.
    component = ("-A", "chem", "-n1", "--mem=10M")
    refused = shared.run("sbatch", "-H", *component, ":", *component, ":", *component, "--wrap=true")
    assert refused.returncode == 1 and "AssocMaxSubmitJobLimit" in refused.stderr
    pair = shared.run("sbatch", "--parsable", "-H", *component, ":", *component, "--wrap=true", check=0).stdout.strip()
    shared.run("scancel", pair)
    shared.wait_end(pair)


@pytest.mark.parametrize("setting, options, expected", [
    ("grptres=cpu=2", ("-n3",), "AssocGrpCpuLimit"),
    ("maxtresperjob=cpu=2", ("-n3",), "AssocMaxCpuPerJobLimit"),
    ("maxwall=10", ("-t20",), "AssocMaxWallDurationPerJobLimit"),
    ("grptres=mem=500", ("--mem=600",), "AssocGrpMemLimit"),
    ("maxtresminsperjob=cpu=10", ("-n2", "-t6"), "AssocMaxCpuMinutesPerJobLimit")])
def test_limits_of_an_association(shared, setting, options, expected):
    assert sacctmgr(shared, "modify", "account", "chem", "set", setting).returncode == 0
    job = shared.submit("true", "-A", "chem", *options)
    poll(lambda: reason(shared, job) == expected, 10, expected)
    name = setting.rsplit("=", 1)[0]
    assert sacctmgr(shared, "modify", "account", "chem", "set", f"{name}=-1").returncode == 0
    shared.wait_end(job)


def test_a_job_without_a_time_limit_gets_the_longest_allowed(shared):
    def limit(*options):
        job = shared.submit("true", "-A", "chem", *options)
        return shared.run("squeue", "-h", "-j", str(job), "-t", "all", "-o", "%l").stdout.strip()
    assert sacctmgr(shared, "modify", "account", "chem", "set", "maxwall=90").returncode == 0
    assert limit() == "1:30:00"
    assert sacctmgr(shared, "modify", "account", "chem", "set", "maxtresminsperjob=cpu=60").returncode == 0
    assert limit() == "1:00:00" and limit("-n3") == "20:00" and limit("-n3", "-t7") == "7:00"


def test_one_key_answers(shared):
    """On a terminal, y or n is enough: no Enter, as with Slurm."""
    for key, left in (("n", "chem"), ("y", "")):
        pid, terminal = pty.fork()
        if pid == 0:
            os.execvpe("sacctmgr", ["sacctmgr", "delete", "account", "chem"], shared.environment)
        said = b""
        while b"(N/y): " not in said:
            said += os.read(terminal, 4096)
        os.write(terminal, key.encode())
        assert os.waitpid(pid, 0)[1] == 0, said
        os.close(terminal)
        assert shared.run("sacctmgr", "-nP", "list", "account", "chem", "format=account").stdout.strip() == left


def test_limits_of_a_qos(shared):
    assert sacctmgr(shared, "add", "qos", "short", "maxtresperuser=cpu=2", "priority=10").returncode == 0
    assert sacctmgr(shared, "modify", "account", "root", "set", "qos=normal,short").returncode == 0
    first = shared.submit("sleep 600", "-A", "chem", "--qos=short", "-n2")
    shared.wait_state(first, "RUNNING")
    second = shared.submit("true", "-A", "chem", "--qos=short")
    poll(lambda: reason(shared, second) == "QOSMaxCpuPerUserLimit", 10, "the reason")
    assert sacctmgr(shared, "modify", "qos", "short", "set", "flags=DenyOnLimit").returncode == 0
    refused = shared.run("sbatch", "-A", "chem", "--qos=short", "-n3", "--wrap=true")
    assert refused.returncode == 1 and "QOSMaxCpuPerUserLimit" in refused.stderr


def test_who_has_used_less_is_served_first(shared):
    job = shared.submit("sleep 2", "-A", "chem", "-n4")
    shared.wait_end(job)
    blocker = shared.submit("sleep 600", "-A", "theory", "-n4")
    shared.wait_state(blocker, "RUNNING")
    by_chem, by_theory = shared.submit("true", "-A", "chem"), shared.submit("true", "-A", "theory")

    def priorities():
        lines = shared.run("sprio", "-h", "-o", "%i %F").stdout.split()
        return dict(zip(map(int, lines[::2]), map(int, lines[1::2])))
    poll(lambda: set(priorities()) == {by_chem, by_theory}, 10, "both priorities")
    shares = shared.run("sshare", "-anP", "-o", "account,user,rawshares,rawusage,levelfs,fairshare").stdout
    chem = next(line.split("|") for line in shares.splitlines() if line.strip().startswith(f"chem|{USER}"))
    used = int(shared.sacct("-X", "-j", job, format="CPUTimeRAW")[0][0])
    assert used >= 8 and used - 1 <= int(chem[3]) <= used + 4 and 0 < float(chem[5]) <= 1
    # The usage of jobs that ended lasts, whoever asks and whenever.
    shared.run("scancel", blocker, by_chem, by_theory)
    poll(lambda: not shared.queue(), 20, "an empty queue")
    def usage():
        text = shared.run("sshare", "-anP", "-o", "account,user,rawusage").stdout
        return [line for line in text.splitlines() if line.strip().startswith(f"chem|{USER}")]
    before = usage()
    shared.run("minke", "down", "--keep-jobs")
    assert usage() == before


def test_nothing_changes_without_accounts(cluster):
    job = cluster.submit("true", "-A", "anything")
    cluster.wait_end(job)
    assert cluster.run("sacct", "-nXPj", job, "-o", "account").stdout.strip() == "anything"


def test_a_job_changes_its_account_and_qos(shared):
    assert sacctmgr(shared, "modify", "account", "chem", "set", "grptres=cpu=1").returncode == 0
    assert sacctmgr(shared, "add", "qos", "narrow", "grptres=cpu=1").returncode == 0
    assert sacctmgr(shared, "modify", "account", "root", "set", "qos=normal,narrow").returncode == 0
    job = shared.submit("true", "-A", "chem", "-n2")
    other = shared.submit("true", "-A", "theory", "--qos=narrow", "-n2")
    poll(lambda: reason(shared, job) == "AssocGrpCpuLimit", 10, "its account's limit")
    poll(lambda: reason(shared, other) == "QOSGrpCpuLimit", 10, "its QOS's limit")
    refused = shared.run("scontrol", "update", f"jobid={job}", "account=physics")
    assert refused.returncode == 1 and "Invalid account" in refused.stderr
    assert shared.run("scontrol", "update", f"jobid={job}", "account=theory").returncode == 0
    assert shared.run("scontrol", "update", f"jobid={other}", "qos=normal").returncode == 0
    shared.wait_end(job)
    shared.wait_end(other)
    assert shared.run("sacct", "-nXPj", f"{job},{other}", "-o", "account,qos").stdout.split() == ["theory|normal"] * 2


def test_configuration(cluster):
    told = cluster.run("sacctmgr", "show", "configuration", check=0).stdout
    assert "AccountingStorageType  = accounting_storage/" in told and "TrackWCKey             = No" in told


def test_other_clusters_are_recorded(shared):
    """Accounts of several clusters in one book: only those of the one that is served count for its jobs."""
    assert sacctmgr(shared, "add", "cluster", "north,south", "fairshare=7").returncode == 0
    again = sacctmgr(shared, "add", "cluster", "north")
    assert again.returncode == 1 and "already exists" in again.stderr
    assert sacctmgr(shared, "add", "account", "bio", "cluster=north").returncode == 0
    assert sacctmgr(shared, "add", "user", "bin", "account=bio", "cluster=north", "maxjobs=3").returncode == 0
    unknown = sacctmgr(shared, "add", "account", "geo", "cluster=west")
    assert unknown.returncode == 1 and "Cluster 'west' has not been added yet" in unknown.stderr

    def rows(*words):
        return shared.run("sacctmgr", "-nP", "show", *words, check=0).stdout.splitlines()
    assert rows("cluster", "format=cluster,share", "north") == ["north|7"]
    assert rows("assoc", "cluster=north", "format=cluster,account,user,maxjobs") == [
        "north|root||", "north|root|root|", "north|bio||", "north|bio|bin|3"]
    modified = sacctmgr(shared, "modify", "user", "set", "adminlevel=none", "maxjobs=3", "where", "name=bin", "cluster=north")
    assert " Modified users...\n  bin\n Modified user associations...\n" in modified.stdout
    assert not [row for row in shared.run("sshare", "-anP").stdout.splitlines() if "bio" in row]
    job = shared.run("sbatch", "-A", "bio", "--wrap=true")
    assert job.returncode == 1 and "Invalid account" in job.stderr
    shared.kill()
    assert rows("user", "bin", "withassoc", "format=user,cluster,defaultaccount") == ["bin|north|bio"]
    assert sacctmgr(shared, "delete", "cluster", "north").returncode == 0
    assert rows("assoc", "account=bio") == []
    own = rows("cluster", "format=cluster")[0]
    kept = sacctmgr(shared, "delete", "cluster", own)
    assert kept.returncode == 1 and rows("cluster", "format=cluster") == [own, "south"]


def test_federations_are_recorded(shared):
    for words in (("cluster", "north,south"), ("federation", "fed", "clusters=north,south")):
        assert sacctmgr(shared, "add", *words).returncode == 0
    assert sacctmgr(shared, "modify", "federation", "fed", "set", "clusters-=south").returncode == 0
    assert sacctmgr(shared, "modify", "cluster", "north", "set", "features=a,b", "fedstate=drain").returncode == 0
    shown = shared.run("sacctmgr", "-nP", "show", "federation", check=0).stdout
    assert shown == "fed|north|1|a,b|DRAIN\n"
    assert sacctmgr(shared, "delete", "federation", "fed").returncode == 0
    assert shared.run("sacctmgr", "-nP", "show", "federation").stdout == ""


def test_a_share_of_a_resource_is_licenses(shared):
    """What this cluster is allowed of a server's licences can be asked for, and survives the daemon."""
    own = shared.run("sacctmgr", "-nP", "show", "cluster", "format=cluster").stdout.strip()
    assert sacctmgr(shared, "add", "resource", "name=fluent", "server=lic1", "count=10", "type=license",
                    f"cluster={own}", "percentallowed=50").returncode == 0
    assert "LicenseName=fluent@lic1\n    Total=5 Used=0 Free=5 Reserved=0 Remote=yes" in \
        shared.run("scontrol", "show", "licenses").stdout
    job = shared.submit("sleep 600", "-A", "chem", "-L", "fluent@lic1:5")
    shared.wait_state(job, "RUNNING")
    second = shared.submit("true", "-A", "chem", "-L", "fluent@lic1")
    poll(lambda: shared.job(second)["Reason"] == "Licenses")
    shared.kill()
    poll(lambda: "Used=5" in shared.run("scontrol", "show", "licenses").stdout)
    assert sacctmgr(shared, "modify", "resource", "fluent", "set", "percentallowed=60").returncode == 0
    shared.wait_state(second, "COMPLETED")
    assert sacctmgr(shared, "add", "resource", "fluent", "server=lic1", f"cluster={own}").returncode == 1
    assert sacctmgr(shared, "delete", "resource", "fluent").returncode == 0
    assert "fluent" not in shared.run("scontrol", "show", "licenses").stdout


def test_odd_amounts_are_read_as_slurm_reads_them(shared):
    """What a Slurm 26.05 makes of them: "" is 0, and a negative number takes the limit away."""
    def becomes(setting: str, value: str) -> str:
        sacctmgr(shared, "modify", "account", "chem", "set", f"{setting}=9")
        done = sacctmgr(shared, "modify", "account", "chem", "set", f"{setting}={value}")
        if done.returncode:
            return "refused"
        return shared.run("sacctmgr", "-n", "-P", "show", "assoc", "account=chem", "user=", f"format={setting}", check=0).stdout.split("\n")[0]
    for value, shown in (("+5", "5"), ("", "0"), ("-7", ""), ("4294967295", ""), ("7x", "refused"), ("5.5", "refused")):
        assert becomes("maxjobs", value) == shown, value
    for value, shown in (("unlimited", ""), ("90", "01:30:00"), ("5:x", "refused")):
        assert becomes("maxwall", value) == shown, value
    assert becomes("grptres", "cpu=+4") == "cpu=4"
    assert becomes("grptres", "nosuch=4") == "refused"
    sacctmgr(shared, "modify", "account", "chem", "set", "maxjobs=-1", "maxwall=-1", "grptres=cpu=-1")


def test_what_is_said_of_a_job_after_its_end(shared):
    job = shared.submit("exit 3", "-A", "chem", "--comment=first")
    shared.wait_state(job, "FAILED")
    change = lambda: sacctmgr(shared, "modify", "job", f"jobid={job}", "set", "derivedexitcode=22", "comment=hello")
    # A job that completes has failed, and has not ended.
    done = poll(lambda: (one := change()).returncode == 0 and one, what="its end")
    assert f"Modified jobs...\n  {job}\n" in done.stdout

    def shown():
        return shared.run("sacct", "-nPXj", job, "-o", "ExitCode,DerivedExitCode,Comment").stdout.strip()
    assert shown() == "3:0|0:22|hello"
    wrong = sacctmgr(shared, "modify", "job", f"number={job}", "set", "derivedexitcode=1")
    assert wrong.returncode == 1 and "Unknown condition" in wrong.stderr
    assert sacctmgr(shared, "modify", "job", job, "set", "derivedexitcode=23").returncode == 0  # the number alone
    assert shown() == "3:0|0:23|hello"
    assert "Nothing modified" in sacctmgr(shared, "modify", "job", "jobid=999999", "set", "comment=x").stdout


def test_wckeys(shared):
    assert "W = one" in sacctmgr(shared, "add", "user", USER, "wckeys=one,two").stdout
    assert shared.run("sacctmgr", "-nP", "show", "wckey", "format=wckey,user").stdout == f"one|{USER}\ntwo|{USER}\n"
    assert sacctmgr(shared, "delete", "user", USER, "wckey=one,two").returncode == 0
    assert shared.run("sacctmgr", "-nP", "show", "wckey").stdout == ""


def test_the_only_qos_that_may_be_had_is_taken(shared):
    for words in (("add", "qos", "first"), ("add", "qos", "second"), ("modify", "account", "physics", "set", "qos=first")):
        assert sacctmgr(shared, *words).returncode == 0, words
    assert shared.job(shared.sbatch("-H", "-A", "theory", "--wrap=true"))["QOS"] == "first"
    # "+" adds to what was there, however it is written.
    for name in ("first", "second"):
        assert sacctmgr(shared, "modify", "user", "set", f"qos=+{name}", "where", f"name={USER}", "account=chem").returncode == 0
    for name in ("first", "second", "normal"):
        assert shared.job(shared.sbatch("-H", "-A", "chem", f"--qos={name}", "--wrap=true"))["QOS"] == name


def test_limits_and_what_is_used_of_them(shared):
    for words in (("modify", "account", "physics", "set", "grpcpus=3", "grpjobs=5"),
                  ("modify", "user", USER, "where", "account=theory", "set", "maxjobs=2", "maxcpus=6", "maxwall=50"),
                  ("modify", "qos", "normal", "set", "maxtresperuser=cpu=5", "maxwall=60")):
        assert sacctmgr(shared, *words).returncode == 0, words
    job = shared.submit("sleep 600", "-A", "theory", "-n2", "-t", "20", "--mem=100")
    shared.sbatch("-H", "-A", "theory", "--wrap=true")
    shared.wait_state(job, "RUNNING")
    lines = shared.run("scontrol", "-o", "show", "assoc_mgr", f"users={USER}", check=0).stdout.splitlines()
    [physics] = [line for line in lines if " Account=physics UserName= " in line]
    assert " GrpJobs=5(1) " in physics and " GrpTRES=cpu=3(2),mem=N(100),energy=N(0),node=N(1)," in physics
    [mine] = [line for line in lines if f" Account=theory UserName={USER}(" in line]
    assert " ParentAccount= " in mine and " MaxJobs=2(1) MaxJobsAccrue= MaxSubmitJobs= MaxWallPJ=50 MaxTRESPJ=cpu=6 " in mine
    [qos] = [line for line in lines if line.startswith("QOS=normal(")]
    assert " MaxWallPJ=60 " in qos and " MaxTRESPU=cpu=5(2)," in qos and " MaxJobsPA=N(1) " in qos
    block = shared.run("scontrol", "show", "assoc_mgr", "flags=assoc", "accounts=chem", check=0).stdout
    assert block.startswith("Current Association Manager state\n\nAssociation Records\n\nClusterName=")
    assert "\n    GrpSubmitJobs=N(0) GrpWall=N(0.00)\n" in block and "QOS Records" not in block
    assert shared.run("scontrol", "show", "assoc_mgr", "qos=nosuch", check=0).stdout.endswith(
        "No QOS currently cached in Slurm.\n\n\n")
    refused = shared.run("scontrol", "show", "assoc_mgr", "foo=bar", check=1)
    assert "invalid entity: foo=bar for keyword:show assoc_mgr" in refused.stdout + refused.stderr


def test_abbreviated_columns_mean_the_plain_ones(shared):
    assert sacctmgr(shared, "modify", "user", USER, "where", "account=theory", "set", "maxjobs=70", "maxsubmit=71",
                    "maxcpus=6").returncode == 0
    listed = shared.run("sacctmgr", "-nP", "list", "assoc", f"user={USER}", "account=theory",
                        "format=acct,maxj,maxs,maxtres", check=0).stdout
    assert listed == "theory|70|71|cpu=6\n"
    assert sacctmgr(shared, "modify", "account", "physics", "set", "priority=6").returncode == 0
    inherited = shared.run("sacctmgr", "-nP", "list", "assoc", f"user={USER}", "account=theory", "format=priority", check=0)
    assert inherited.stdout == "6\n"


WITHOUT_LIMITS = "sacctmgr: warning: {} will not hold anybody up: this cluster does not enforce limits."
HINT = 'minke.toml needs enforce = ["limits"] below [accounting] (slurm.conf: AccountingStorageEnforce=limits)'


@pytest.mark.parametrize("words,names", [
    (("modify", "user", USER, "set", "maxjobs=1"), "MaxJobs"),
    (("modify", "user", USER, "set", "maxsubmitjobs=1", "maxwall=10"), "MaxSubmitJobs, MaxWall"),
    (("modify", "account", "lab", "set", "grptres=cpu=1", "grpjobs=2"), "GrpJobs, GrpTRES"),
    (("modify", "account", "lab", "set", "grptresmins=cpu=10"), "GrpTRESMins"),
    (("modify", "account", "lab", "set", "maxtresperjob=cpu=1"), "MaxTRES"),
    (("add", "account", "new", "grpwall=10"), "GrpWall"),
    (("add", "qos", "new", "maxjobsperuser=3"), "MaxJobsPerUser"),
    (("modify", "qos", "normal", "set", "maxtresperuser=cpu=2", "maxwall=5"), "MaxTRESPerUser, MaxWall"),
    (("modify", "cluster", "minke", "set", "grpsubmitjobs=5"), "GrpSubmitJobs")])
def test_a_limit_that_is_not_enforced_is_said_to_be_none(cluster, words, names):
    """Each time, with --quiet too, and when it is said again; not where something else is set."""
    for setup in (("add", "account", "lab"), ("add", "user", USER, "account=lab")):
        assert sacctmgr(cluster, *setup).stderr == ""
    done = sacctmgr(cluster, "-Q", *words)
    assert done.returncode == 0 and WITHOUT_LIMITS.format(names) in done.stderr and HINT in done.stderr, done.stderr
    again = sacctmgr(cluster, *words)
    assert words[0] == "add" or WITHOUT_LIMITS.format(names) in again.stderr, again.stderr
    taken = sacctmgr(cluster, "modify", "user", USER, "set", "maxjobs=-1", "comment=x")
    assert taken.returncode == 0 and taken.stderr == "", taken.stderr


def test_what_else_has_no_effect_is_said(cluster):
    for setup in (("add", "account", "lab"), ("add", "user", USER, "account=lab"), ("add", "qos", "high")):
        assert sacctmgr(cluster, *setup).stderr == ""
    assert "Fairshare will not change the order of jobs: PriorityType is priority/basic" in \
        sacctmgr(cluster, "modify", "account", "lab", "set", "fairshare=5").stderr
    assert "the list of QOS keeps nobody from another one" in \
        sacctmgr(cluster, "modify", "account", "lab", "set", "qos=high").stderr
    assert "MaxJobsAccrue will be kept, and changes nothing here" in \
        sacctmgr(cluster, "modify", "user", USER, "set", "maxjobsaccrue=5").stderr


def test_a_file_of_limits_that_are_not_enforced(cluster):
    """sacctmgr load says so, too; where limits are enforced, nothing is said."""
    (cluster.work / "tree").write_text("Cluster - 'minke'\nParent - 'root'\nAccount - 'lab':GrpTRES=cpu=1\n"
                                       f"Parent - 'lab'\nUser - '{USER}':MaxJobs=1\n")
    done = sacctmgr(cluster, "load", "file=tree")
    assert done.returncode == 0 and WITHOUT_LIMITS.format("GrpTRES, MaxJobs") in done.stderr, done.stderr


def test_limits_that_are_enforced_need_no_words(shared):
    done = sacctmgr(shared, "modify", "user", USER, "set", "maxjobs=1", "grptres=cpu=1", "qos=normal", "fairshare=4")
    assert done.returncode == 0 and done.stderr == "", done.stderr


def test_what_a_change_reaches(shared):
    """A limit of an account is also its users', but of those who have one of their own."""
    sacctmgr(shared, "add", "account", "reach", "share=3")
    sacctmgr(shared, "add", "user", "root,nobody", "account=reach")
    sacctmgr(shared, "modify", "user", "nobody", "where", "account=reach", "set", "maxwall=5")

    def reached(*words):
        told = sacctmgr(shared, "modify", "account", "reach", "set", *words).stdout
        return [user for user in ("root", "nobody") if f"U = {user}" in told]
    assert reached("maxjobs=5") == ["root", "nobody"] and reached("maxwall=7") == ["root"]
    assert reached("grpjobs=5") == [] and reached("share=2") == []
    sacctmgr(shared, "delete", "account", "reach")


def test_settings_of_a_qos_that_change_nothing_here_are_kept(shared):
    sacctmgr(shared, "add", "qos", "odd")
    kept = sacctmgr(shared, "modify", "qos", "odd", "set", "usagethreshold=0.5", "limitfactor=2", "preemptexempttime=10",
                    "flags=NoReserve")
    assert kept.returncode == 0
    assert "Flags=NoReserve, LimitFactor, PreemptExemptTime, UsageThreshold will be kept" in kept.stderr
    shown = shared.run("sacctmgr", "-nP", "show", "qos", "odd",
                       "format=name,usagethreshold,limitfactor,preemptexempttime,flags").stdout
    assert shown == "odd|0.500000|2.000000|00:10:00|NoReserve\n"
    looped = sacctmgr(shared, "modify", "qos", "odd", "set", "preempt=odd")
    assert (looped.returncode, "QOS Preemption loop detected" in looped.stderr) == (1, True)
    sacctmgr(shared, "delete", "qos", "odd")
