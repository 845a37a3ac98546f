#include "cli/slurm_doctor.h"

#include <cerrno>
#include <cstdlib>
#include <string>

#include "cli/finding.h"
#include "engine/slurm/find.h"
#include "engine/slurm/slurm_engine.h"

namespace minke::cli {
namespace {

// What to do where slurmctld cannot be asked. Of a token that has run out the finding says it itself.
std::string advice_on(const Error& error) {
  const bool own_token = error.code == EACCES && std::getenv("SLURM_JWT") != nullptr;
  return own_token ? "unset SLURM_JWT: then munge says who asks, or a new token does"
                   : "tell the cluster's administrators, if it lasts";
}

Finding of_answers(engine::slurm::SlurmEngine& cluster, uint32_t seconds) {
  const std::string& directory = cluster.answers_directory();
  if (directory.empty())
    return {Level::kNote, "answers of slurmctld cannot be kept: each command asks for itself",
            "export XDG_RUNTIME_DIR, or HOME, as a directory of your own"};
  if (!cluster.keeps_answers())
    return {Level::kNote,
            "answers of slurmctld cannot be kept in " + directory + ": each command asks for itself",
            "make room there, or export XDG_RUNTIME_DIR as another directory of your own"};
  return {Level::kGood,
          "your commands share slurmctld's answers, for " + std::to_string(seconds) + " s or more, in " +
              directory,
          ""};
}

void check_cluster(engine::slurm::SlurmEngine& cluster, std::vector<Finding>& findings) {
  const engine::slurm::Place& place = cluster.place();
  const std::string found = "its commands are in " + place.directory + ", found by " + place.found_by;
  if (const Status answers = cluster.ping_controller(); !answers) {
    findings.push_back({Level::kBad, answers.error().message + "; " + found, advice_on(answers.error())});
    return;
  }
  const auto self = cluster.identity();
  if (!self) {
    findings.push_back({Level::kBad, self.error().message + "; " + found, advice_on(self.error())});
    return;
  }
  findings.push_back(
      {Level::kGood, "cluster " + self->cluster + " runs Slurm " + self->version + "; " + found, ""});
  if (const std::string note = cluster.note_of_version(); !note.empty())
    findings.push_back({Level::kNote, note, "a newer Minke may know it"});
  findings.push_back({Level::kGood, "slurmctld answers", ""});
  if (!place.rest.empty()) {
    if (const Status answers = cluster.ping_rest(); answers) {
      findings.push_back(
          {Level::kGood, "slurmrestd answers at " + place.rest + ": the queue comes from it", ""});
    } else {
      findings.push_back({Level::kNote, answers.error().message + "; the queue comes from squeue", ""});
    }
  }
  if (const Status kept = cluster.ping_accounting(); kept) {
    findings.push_back({Level::kGood, "slurmdbd answers: seff, sacct and run times can be had", ""});
  } else {
    findings.push_back(
        {Level::kNote, kept.error().message + ": seff and sacct cannot answer, the queue can", ""});
  }
  findings.push_back(of_answers(cluster, self->least_poll_seconds));
  if (cluster.is_polled())
    findings.push_back({Level::kGood, "minke poll asks slurmctld for all users of this machine", ""});
}

}  // namespace

bool check_slurm(std::vector<Finding>& findings) {
  auto found = engine::slurm::find_slurm();
  if (!found) {
    findings.push_back({Level::kBad, found.error().message,
                        "load the cluster's commands (module load slurm), or say which cluster is meant: "
                        "MINKE_CLUSTER=embedded"});
    return true;
  }
  if (!*found) return false;
  engine::slurm::SlurmEngine cluster(std::move((*found)->place), (*found)->period);
  check_cluster(cluster, findings);
  return true;
}

}  // namespace minke::cli
