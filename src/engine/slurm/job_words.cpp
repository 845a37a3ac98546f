#include "engine/slurm/job_words.h"

#include <algorithm>
#include <vector>

#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "text/dependency.h"
#include "text/hostlist.h"
#include "text/number.h"
#include "text/state.h"
#include "text/tres.h"

namespace minke::engine::slurm {
namespace {

constexpr size_t kMostNodes = 10'000;

// "gres/gpu:a100:2" without what stands in front, as --gres has it.
std::string as_gres(const std::string& words) {
  std::string out;
  for (std::string_view term : text::split(words, ',')) {
    for (const std::string_view prefix : {"gres/", "gres:"}) {
      if (term.starts_with(prefix)) term.remove_prefix(prefix.size());
    }
    if (!term.empty()) out.append(out.empty() ? "" : ",").append(term);
  }
  return out;
}

}  // namespace

void set_state_word(std::string_view word, model::JobRecord& job) {
  const size_t by = word.find(" by ");
  if (by != std::string_view::npos)
    job.set_cancelled_by_uid(
        static_cast<uint32_t>(text::parse_unsigned(word.substr(by + 4), 0xffffffff).value_or(0)));
  word = word.substr(0, word.find(' '));
  if (word == "CONFIGURING" || word == "POWER_UP_NODE") job.set_configuring(true);
  if (word == "SPECIAL_EXIT") job.set_special_exit(true);
  // Slurm holds the nodes of these; what follows is not known yet.
  if (word == "STOPPED") return job.set_state(model::JOB_SUSPENDED);
  if (word == "RESIZING" || word == "SIGNALING" || word == "STAGE_OUT" || word == "CONFIGURING")
    return job.set_state(model::JOB_RUNNING);
  const auto known = text::parse_job_state(word);
  if (!known) return;
  if (known->completing) job.set_completing(true);
  if (known->state) job.set_state(*known->state);
}

void set_reason(const std::string& reason, const std::string& description, model::JobRecord& job) {
  constexpr std::string_view kNoPlace = "Nodes required for job are DOWN";
  // "ReqNodeNotAvail, UnavailableNodes:n4", "RaisedSignal:9(Killed)"
  const std::string_view word = std::string_view(reason).substr(0, reason.find_first_of(",:"));
  if (const auto known = text::parse_state_reason(word)) {
    job.set_reason(*known);
    job.set_reason_detail(!description.empty() ? description : word == reason ? std::string() : reason);
    return;
  }
  if (reason.starts_with(kNoPlace)) job.set_reason(model::WAIT_RESOURCES);
  job.set_reason_detail(reason);
}

void set_tres(std::string_view tres, model::JobRecord& job) {
  const text::TresAmounts amounts = text::parse_tres(tres);
  const auto small = [](uint64_t value) {
    return static_cast<uint32_t>(std::min<uint64_t>(value, 0x7fffffff));
  };
  if (amounts.cpus != 0) job.set_num_cpus(small(amounts.cpus));
  if (amounts.nodes != 0) job.set_num_nodes(small(amounts.nodes));
  if (amounts.memory_mib != 0) job.set_memory_mib(amounts.memory_mib);
  job.clear_tres_gres();
  job.mutable_tres_gres()->Add(amounts.gres.begin(), amounts.gres.end());
  job.clear_tres_licenses();
  job.mutable_tres_licenses()->Add(amounts.licenses.begin(), amounts.licenses.end());
  const uint64_t billing = amounts.billing.value_or(0);
  if (billing != job.num_cpus()) job.set_billing(static_cast<double>(billing));
}

void set_dependencies(std::string_view words, model::JobRecord& job) {
  // What has become of each stands behind it in parentheses.
  std::string plain;
  std::vector<std::string_view> became;
  for (size_t at = 0; at < words.size();) {
    const size_t open = words.find('(', at);
    plain.append(words.substr(at, open - at));
    if (open == std::string_view::npos) break;
    const size_t close = words.find(')', open);
    if (close == std::string_view::npos) break;
    became.push_back(words.substr(open + 1, close - open - 1));
    at = close + 1;
  }
  const auto list = text::parse_dependencies(plain);
  if (!list) return;
  for (size_t i = 0; i < list->terms.size(); ++i) {
    model::Dependency& one = *job.mutable_spec()->add_dependencies();
    one = list->terms[i];
    if (i < became.size() && became[i] == "failed") one.set_status(model::DEPENDENCY_FAILED);
  }
  job.mutable_spec()->set_dependency_any(list->any);
}

void set_tres_per_node(const std::string& words, model::JobRecord& job) {
  if (words.empty() || words == "N/A" || words == "(null)") return;
  if (const auto gres = text::parse_gres_list(as_gres(words)))
    job.mutable_spec()->mutable_gres_per_node()->Add(gres->begin(), gres->end());
}

void set_tres_per_job(const std::string& words, model::JobRecord& job) {
  if (words.empty() || words == "N/A" || words == "(null)") return;
  if (const auto gres = text::parse_gres_list(as_gres(words)))
    job.mutable_spec()->mutable_gpus()->Add(gres->begin(), gres->end());
}

void set_nodes(const std::string& hosts, model::JobRecord& job) {
  if (hosts.empty() || hosts == "(null)" || hosts == "None assigned") return;
  job.set_node_list(hosts);
  if (!job.nodes().empty()) return;
  const auto names = text::expand_hostlist(hosts);
  if (!names || names->empty() || names->size() > kMostNodes) return;
  const auto count = static_cast<uint32_t>(names->size());
  for (uint32_t i = 0; i < count; ++i) {
    model::NodeAllocation& node = *job.add_nodes();
    node.set_node(names->at(i));
    node.set_cpus(job.num_cpus() / count + (i < job.num_cpus() % count ? 1 : 0));
    node.set_memory_mib(job.memory_mib() / count);
  }
}

}  // namespace minke::engine::slurm
