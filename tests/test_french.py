"""What Minke's own commands say in French: the catalogue is whole, and it is spoken where it is asked for, and nowhere else."""
import json
import re
import shutil
import subprocess
import sys

import pytest

from cluster import ROOT, Machine, poll

sys.path.insert(0, str(ROOT / "tools"))
import messages  # noqa: E402

MINKE_ONLY = True
FRENCH = {"LC_ALL": None, "LC_MESSAGES": None, "LANGUAGE": None, "LANG": "fr_CA.UTF-8"}
COLUMNS = 80


def values(text: str) -> list[str]:
    """Its places for values; those that are counted on get their numbers."""
    places = re.findall(r"\{(\d?)\}", text)
    return sorted(place or str(number) for number, place in enumerate(places))


def test_each_text_that_is_marked_has_a_french_one_with_the_same_values():
    marked, french = messages.marked(), messages.translations()
    assert len(marked) > 300
    assert not [text for text in marked if not all(french.get(text, ("",)))], "tools/messages.py adds them to po/fr.po"
    assert not set(french) - set(marked), "no more in the source: tools/messages.py"
    for text, (plural, _) in marked.items():
        for english, form in zip((text, plural or text), french[text]):
            assert set(values(form)) == set(values(english)), (text, form)
        assert len(french[text]) == (1 if plural is None else 2), text


def test_texts_begin_and_end_as_the_english_ones_do():
    """They are put together with others: blanks and line ends at their edges count."""
    for text, forms in messages.translations().items():
        for form in forms:
            assert (form[-1] in " \n") == (text[-1] in " \n"), (text, form)
            assert (form[0] == " ") == (text[0] == " ") or text in (": ", "; ", "; did you mean {}?") or text.startswith((": ", "; ")), (text, form)


def test_help_in_french_fits_a_terminal_and_keeps_its_commands():
    for text, forms in messages.translations().items():
        if not re.search(r"^\$ ", text, re.M):
            continue
        lines, french = text.splitlines(), forms[0].splitlines()
        assert len(lines) == len(french), text
        for one, other in zip(lines, french):
            assert len("  " + other) <= COLUMNS, other
            if one.startswith("$ "):
                assert one.split()[1:2] == other.split()[1:2], (one, other)


@pytest.mark.skipif(shutil.which("msgfmt") is None, reason="gettext's tools are not installed")
def test_gettexts_own_tools_take_the_catalogue():
    done = subprocess.run(["msgfmt", "--check-format", "--check-domain", "-o", "/dev/null", messages.FRENCH], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_overview_the_help_and_ones_jobs(cluster):
    said = cluster.run("minke", env=FRENCH, check=0).stdout
    assert "la grappe est arrêtée" in said and "soumettre un script de tâche" in said and "minke why TÂCHE" in said
    job = cluster.submit("exit 3", "--job-name=échec")
    cluster.wait_end(job)
    said = cluster.run("minke", env=FRENCH, check=0).stdout
    assert re.search(r"^La grappe \S+ est en marche : 0 processeurs utilisés sur \d+\.$", said, re.M), said
    table = cluster.run("minke", "jobs", env=FRENCH, check=0).stdout.splitlines()
    # Columns count characters, not bytes.
    assert table[0].split() == ["TÂCHE", "NOM", "ÉTAT", "TEMPS", "RESTE", "OÙ", "OU", "POURQUOI"]
    assert table[0].index("ÉTAT") == table[1].index("FAILED") and table[0].index("OÙ") == table[1].index("code de sortie 3, à l’instant")
    assert table[-1] == "terminées : 1 en échec"
    topics = cluster.run("minke", "help", env=FRENCH, check=0).stdout
    assert "pourquoi une tâche attend ou a échoué" in topics
    for topic in "submit look why stop arrays gpus data python setup".split():
        page = cluster.run("minke", "help", topic, env=FRENCH, check=0).stdout
        assert max(map(len, page.splitlines())) <= COLUMNS and page != cluster.run("minke", "help", topic, check=0).stdout


def test_why(cluster):
    first = cluster.submit("sleep 600", "--time=5")
    waiting = cluster.sbatch("--hold", "--wrap=true")
    poll(lambda: "RUNNING" in cluster.run("squeue", "-j", first).stdout or cluster.run("squeue", "-h", "-j", first, "-o", "%T").stdout.strip() == "RUNNING", 30)
    running = cluster.run("minke", "why", first, env=FRENCH, check=0).stdout
    assert f"Tâche {first} (" in running and "Elle tourne sur " in running and "Sa limite de temps se termine dans environ" in running
    held = cluster.run("minke", "why", waiting, env=FRENCH, check=0).stdout
    assert f"Elle est retenue. Pour la libérer : scontrol release {waiting}\n" in held
    failed = cluster.submit("pyton3 calcul.py")
    cluster.wait_end(failed)
    ended = cluster.run("minke", "why", failed, env=FRENCH, check=0).stdout
    assert "Son script s’est terminé avec le code de sortie 127" in ended and "Les dernières lignes de " in ended and "Que faire :" in ended
    assert "n’est pas un numéro de tâche" in cluster.run("minke", "why", "abc", env=FRENCH, check=1).stderr


def test_doctor_estimate_top_and_setup(cluster):
    doctor = cluster.run("minke", "doctor", env=FRENCH).stdout
    assert re.search(r"^note {5}aucun démon ne tourne\n {9}-> minke up$", doctor, re.M), doctor
    assert re.search(r"^bon {6}répertoire d’état ", doctor, re.M), doctor
    cluster.run("minke", "up", check=0)
    estimate = cluster.run("minke", "estimate", "8B", "--cluster=narval", env=FRENCH, check=0).stdout
    assert estimate.startswith("Llama 3.1 8B : 8,030,261,248 paramètres (connu par son nom)\n") and "#SBATCH --gpus" in estimate
    top = cluster.run("minke", "top", "--once", env=FRENCH, check=0).stdout
    assert "cœurs occupés sur" in top and "0 tâche en cours" in top
    setup = cluster.run("minke", "setup", "--name=labo", "--users=none", "--max-time=1-0", "--memory=1G", "--mail=none", "--show", env=FRENCH, check=0).stdout
    assert "Ces commandes seront exécutées :" in setup and 'cluster_name = "labo"' in setup


@pytest.mark.parametrize("command, says", [
    ("sbatch --time=24h ok.sh", "(écrivez 24:00:00, 90 (minutes)"), ("sbatch --walltime=5 ok.sh", "(vouliez-vous dire --time ?)"),
    ("sbatch --mem=lots ok.sh", "écrivez 500M, 4G ou 1T"), ("sbatch --array=5-1 ok.sh", "5-1 va à rebours : 1-5"),
    ("sbatch hours.sh", "hours.sh ligne 2 : #SBATCH --time=24h; écrivez 24:00:00"), ("srun", "nommez un programme : srun hostname"),
    ("sbatch a.py", "ou écrivez #!/usr/bin/env python3 comme première ligne")])
def test_advice_on_a_refusal(cluster, command, says):
    """Slurm's own words stay: they are what people look for. What Minke adds is French."""
    for name, text in {"ok.sh": "#!/bin/bash\ntrue\n", "hours.sh": "#!/bin/bash\n#SBATCH --time=24h\n", "a.py": "print(1)\n"}.items():
        (cluster.work / name).write_text(text)
    english = cluster.run(*command.split())
    french = cluster.run(*command.split(), env=FRENCH)
    assert french.returncode == english.returncode != 0 and says in french.stderr, french.stderr
    assert french.stderr.split("(")[0] == english.stderr.split("(")[0]


def test_what_programs_read_is_english_everywhere(cluster):
    """JSON, Slurm's tables, the log, and all that a daemon keeps which was started by who speaks French."""
    cluster.run("minke", "up", env=FRENCH, check=0)
    job = cluster.run("sbatch", "--parsable", "--hold", "--wrap=true", env=FRENCH, check=0).stdout.strip()
    why = cluster.run("minke", "why", "--json", job, env=FRENCH, check=0)
    assert json.loads(why.stdout)["waits_for"].startswith("It is held.")
    assert {one["level"] for one in json.loads(cluster.run("minke", "doctor", "--json", env=FRENCH).stdout)["findings"]} <= {"ok", "note", "problem"}
    for command in ("squeue", "sinfo", "scontrol show job " + job, "sacct -X", "sbatch --help", "minke status", "squeue --json"):
        def shown(**how):
            return re.sub(r"\d+", "0", cluster.run(*command.split(), check=0, **how).stdout)
        assert shown(env=FRENCH) == shown(), command
    assert "tâche" not in (cluster.home / "minked.log").read_text()


@pytest.mark.parametrize("language", [{"LC_ALL": "C", "LANG": "fr_CA.UTF-8"}, {"LC_ALL": None, "LANG": "C", "LANGUAGE": "fr"},
                                      {"LC_ALL": None, "LC_MESSAGES": None, "LANG": "de_DE.UTF-8"}, {"LC_ALL": None, "LANG": None},
                                      {"LC_ALL": "fr_FR", "LANGUAGE": "en"}])
def test_english_for_everybody_else(cluster, language):
    assert "You have no jobs." in cluster.run("minke", "jobs", env=language, check=0).stdout


def test_the_most_particular_variable_counts(cluster):
    for language in ({"LC_ALL": "fr_FR"}, {"LC_ALL": None, "LC_MESSAGES": "fr", "LANG": "en_CA"}, {"LC_ALL": "en_CA.UTF-8", "LANGUAGE": "fr:en"}):
        assert "Vous n’avez aucune tâche." in cluster.run("minke", "jobs", env=language, check=0).stdout
