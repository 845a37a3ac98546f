"""scrontab: a crontab is installed, listed, edited and removed; its jobs recur."""
import os
import pty

MINKE_ONLY = True


def install(cluster, text: str, *options, check=0):
    (cluster.work / "tab").write_text(text)
    return cluster.run("scrontab", *options, str(cluster.work / "tab"), check=check)


def jobs(cluster) -> dict[str, str]:
    """Numbers of waiting and running jobs by name."""
    done = cluster.run("squeue", "-h", "-o", "%j %i", check=0)
    return dict(line.split() for line in done.stdout.splitlines())


def shown(cluster, job: str) -> str:
    return cluster.run("scontrol", "show", "job", job, check=0).stdout


def listed(cluster) -> str:
    return cluster.run("scrontab", "-l", check=0).stdout


def test_a_crontab_is_installed_listed_and_removed(cluster):
    user = cluster.run("id", "-un").stdout.strip()
    assert cluster.run("scrontab", "-l", check=1).stdout == f"no crontab for {user}\n"
    text = "# mine\nDIR=/bin\n#SCRON -J first -t 5\n@hourly $DIR/echo hi\n\n0 5 1,15 * mon-fri false\n"
    assert install(cluster, text, check=1).stdout == "There are errors in your crontab.\n"
    text = text.replace("mon-fri", "1-5")
    assert install(cluster, text).stdout == ""
    assert listed(cluster) == text
    numbers = jobs(cluster)
    assert set(numbers) == {"first", "false"}
    record = shown(cluster, numbers["first"])
    assert 'CronJob=Yes CrontabSpec="0 0-23 * * *"' in record
    assert "JobState=PENDING Reason=BeginTime" in record and "TimeLimit=00:05:00" in record
    assert 'CrontabSpec="0 5 1,15 * 1-5"' in shown(cluster, numbers["false"])
    assert cluster.run("squeue", "-h", "-O", "cronjob", check=0).stdout.split() == ["Yes", "Yes"]
    script = cluster.run("scontrol", "write", "batch_script", numbers["first"], "-", check=0).stdout
    assert "\n#SCRON -J first -t 5\n# crontab time request was: '@hourly'\n/bin/echo hi\n" in script
    assert cluster.run("scrontab", "-r", check=0).stdout == ""
    assert jobs(cluster) == {}
    cluster.run("scrontab", "-l", check=1)


def test_a_cancelled_entry_is_listed_as_a_comment(cluster):
    install(cluster, "#SCRON -J one\n@yearly true\n@monthly two\n")
    numbers = jobs(cluster)
    assert "Cannot modify scrontab jobs through scontrol" in cluster.run("scontrol", "hold", numbers["one"], check=1).stderr
    cluster.run("scancel", "--cron", numbers["one"], check=0)
    assert listed(cluster) == "#DISABLED: #SCRON -J one\n#DISABLED: @yearly true\n@monthly two\n"
    record = shown(cluster, numbers["one"])
    assert "JobState=CANCELLED" in record and 'CrontabSpec="0 0 1 1 *"' in record and "CronJob=Yes" not in record
    assert set(jobs(cluster)) == {"two"}


def test_what_is_wrong_is_told_and_nothing_changes(cluster):
    install(cluster, "@yearly kept\n")
    before = jobs(cluster)
    done = install(cluster, "@hourly true\n61 * * * * true\n", check=1)
    assert done.stderr.startswith('scrontab: error: line 2: "61" is no minute')
    assert install(cluster, "#SCRON --array=1-3\n@hourly true\n", check=1).stderr == \
        "scrontab: error: Invalid option found in #SCRON line: --array=1-3\n"
    done = install(cluster, "@daily true\n#SCRON -p nosuch\n@hourly true\n", check=1)
    assert done.stdout.startswith("There was an issue with the job submission on lines 2-3\n"
                                  "The error code return was: Invalid partition name specified\n")
    assert install(cluster, "@hourly true\n", "-u", "nosuch-user", check=1).stderr == \
        "scrontab: fatal: Could not find user nosuch-user\n"
    assert cluster.run("scrontab", "/nosuch/tab", check=1).stderr.startswith("scrontab: fatal: cannot open /nosuch/tab")
    assert cluster.run("scrontab", "-l", "-r", check=1).stderr.startswith("usage:\tscrontab")
    assert jobs(cluster) == before and listed(cluster) == "@yearly kept\n"


def test_an_editor_changes_it(cluster):
    install(cluster, "@hourly true\n")

    def edit(editor: str) -> int:
        ours, theirs = pty.openpty()
        environment = {name: value for name, value in cluster.environment.items() if name != "VISUAL"}
        program = cluster.start("scrontab", "-e", env=environment | {"EDITOR": editor}, stdin=theirs, stdout=theirs, stderr=theirs)
        status = program.wait(60)
        os.close(ours)
        os.close(theirs)
        return status

    assert edit("sed -i s/hourly/yearly/") == 0
    assert listed(cluster) == "@yearly true\n"
    assert edit("false") == 1
    assert edit("sed -i s/yearly/often/") == 1
    assert listed(cluster) == "@yearly true\n"
    assert cluster.run("scrontab", "-e", check=1).stderr == "scrontab: fatal: Standard input is not a TTY\n"
