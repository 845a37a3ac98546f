"""Optuna, as PyPI has it, opens the study that `minke sweep export --optuna` writes, and goes on with it."""
import json
import textwrap

import pytest

from client_environments import installed

pytestmark = [pytest.mark.minke_only, pytest.mark.xdist_group("clients"), pytest.mark.timeout(1800)]

SWEEP = """
name: digits
method: random
metric: {name: loss, goal: maximize}
run_cap: 9
early_terminate: {type: asha, min_iter: 1, max_iter: 9, eta: 3, resource: epochs}
parameters:
  lr: {distribution: log_uniform_values, min: 1.0e-5, max: 1}
  layers: {min: 1, max: 8}
  units: {distribution: q_uniform, min: 16, max: 256, q: 16}
  noise: {distribution: normal, mu: 0, sigma: 2}
  kind: {values: [a, 2, null, true]}
command: [bash, -c, "[ $MINKE_TRIAL != 4 ] && printf 'step,loss\\\\n%s,%s\\\\n' $MINKE_BUDGET $MINKE_TRIAL.5 >$MINKE_TRIAL_DIR/log.csv"]
"""

OPEN = """
import json
import optuna

study = optuna.load_study(study_name="digits", storage="sqlite:///study.db")
assert study.direction == optuna.study.StudyDirection.MAXIMIZE
print(json.dumps([{"trial": one.number + 1, "state": one.state.name, "value": one.value, "parameters": one.params,
                   "at": one.intermediate_values} for one in study.trials]))
print(json.dumps([study.best_value, study.best_params]))

def objective(trial):
    trial.suggest_float("lr", 1e-5, 1, log=True)
    trial.suggest_int("layers", 1, 8)
    trial.suggest_categorical("kind", ["a", 2, None, True])
    return 0.0

study.sampler = optuna.samplers.TPESampler(n_startup_trials=2, seed=1)
study.optimize(objective, n_trials=3)
assert study.trials[-1].state.name == "COMPLETE"
print(len(study.trials))
"""


@pytest.fixture(scope="module")
def optuna(request):
    if not request.config.getoption("--clients"):
        pytest.skip("with --clients")
    return installed("optuna")


def test_optuna_opens_a_sweep_and_goes_on_with_it(cluster, optuna):
    (cluster.work / "s.yaml").write_text(SWEEP)
    cluster.run("minke", "sweep", "run", "s.yaml", check=0, timeout=120)
    cluster.run("minke", "sweep", "export", "digits", "--optuna", "study.db", check=0)
    ours = json.loads(cluster.run("minke", "sweep", "status", "digits", "--json", check=0).stdout)["trials"]
    (cluster.work / "open.py").write_text(textwrap.dedent(OPEN))
    done = cluster.run(optuna / "python", "open.py", timeout=240)
    assert done.returncode == 0, done.stderr
    theirs, best, count = map(json.loads, done.stdout.splitlines())
    states = {"COMPLETED": "COMPLETE", "PAUSED": "PRUNED", "FAILED": "FAIL"}
    assert [one["state"] for one in theirs] == [states[one["state"]] for one in ours]
    assert {one["state"] for one in theirs} == set(states.values())
    for one, other in zip(theirs, ours, strict=True):
        wanted = {name: value for name, value in other["parameters"].items() if name != "epochs"}
        assert one["trial"] == other["trial"] and one["parameters"] == pytest.approx(wanted, rel=1e-12, nan_ok=True)
        if other["state"] != "FAILED":
            assert one["value"] == other["value"] and str(other["epochs"]) in one["at"]
    assert best == [max(one["value"] for one in theirs if one["state"] == "COMPLETE"),
                    next(one["parameters"] for one in theirs if one["state"] == "COMPLETE" and one["value"] == max(
                        other["value"] for other in theirs if other["state"] == "COMPLETE"))]
    assert count == 12
