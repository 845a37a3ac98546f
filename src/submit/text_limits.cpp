#include "submit/text_limits.h"

#include <string>

#include "model/container.pb.h"
#include "model/error.h"
#include "model/job_spec.pb.h"
#include "model/job_terms.pb.h"

namespace minke::submit {

namespace {

using model::JobSpec;

struct Limit {
  std::string_view name;
  const std::string& (JobSpec::*text)() const;
  std::string* (JobSpec::*mutable_text)();
  size_t most;
};

constexpr Limit kLimits[] = {
    {"--account", &JobSpec::account, &JobSpec::mutable_account, kMostNameBytes},
    {"--acctg-freq", &JobSpec::acctg_freq, &JobSpec::mutable_acctg_freq, kMostNameBytes},
    {"AdminComment", &JobSpec::admin_comment, &JobSpec::mutable_admin_comment, kMostNameBytes},
    {"--batch", &JobSpec::batch_features, &JobSpec::mutable_batch_features, kMostNameBytes},
    {"--bb", &JobSpec::burst_buffer, &JobSpec::mutable_burst_buffer, 8 * kMostNameBytes},
    {"--chdir", &JobSpec::work_dir, &JobSpec::mutable_work_dir, kMostPathBytes},
    {"--cluster-constraint", &JobSpec::cluster_features, &JobSpec::mutable_cluster_features, kMostNameBytes},
    {"--comment", &JobSpec::comment, &JobSpec::mutable_comment, kMostNameBytes},
    {"the script's path", &JobSpec::command, &JobSpec::mutable_command, kMostPathBytes},
    {"--constraint", &JobSpec::constraint, &JobSpec::mutable_constraint, kMostNameBytes},
    {"--container", &JobSpec::container, &JobSpec::mutable_container, kMostPathBytes},
    {"--container-id", &JobSpec::container_id, &JobSpec::mutable_container_id, kMostNameBytes},
    {"--cpu-bind", &JobSpec::cpu_bind, &JobSpec::mutable_cpu_bind, kMostListBytes},
    {"--cpu-freq", &JobSpec::cpu_freq, &JobSpec::mutable_cpu_freq, kMostNameBytes},
    {"--distribution", &JobSpec::distribution, &JobSpec::mutable_distribution, kMostNameBytes},
    {"--error", &JobSpec::stderr_path, &JobSpec::mutable_stderr_path, kMostPathBytes},
    {"--exclude", &JobSpec::exclude, &JobSpec::mutable_exclude, kMostListBytes},
    {"--exclusive", &JobSpec::exclusive_mode, &JobSpec::mutable_exclusive_mode, kMostNameBytes},
    {"--export", &JobSpec::export_option, &JobSpec::mutable_export_option, kMostListBytes},
    {"--extra", &JobSpec::extra, &JobSpec::mutable_extra, kMostListBytes},
    {"--gpu-bind", &JobSpec::gpu_bind, &JobSpec::mutable_gpu_bind, kMostListBytes},
    {"--gpu-freq", &JobSpec::gpu_freq, &JobSpec::mutable_gpu_freq, kMostNameBytes},
    {"--gpus-per-node", &JobSpec::gpus_per_node, &JobSpec::mutable_gpus_per_node, kMostNameBytes},
    {"--gres-flags", &JobSpec::gres_flags, &JobSpec::mutable_gres_flags, kMostNameBytes},
    {"--hint", &JobSpec::hint, &JobSpec::mutable_hint, kMostNameBytes},
    {"--input", &JobSpec::stdin_path, &JobSpec::mutable_stdin_path, kMostPathBytes},
    {"--job-name", &JobSpec::name, &JobSpec::mutable_name, kMostNameBytes},
    {"--licenses", &JobSpec::licenses, &JobSpec::mutable_licenses, kMostNameBytes},
    {"--mail-type", &JobSpec::mail_type, &JobSpec::mutable_mail_type, kMostNameBytes},
    {"--mail-user", &JobSpec::mail_user, &JobSpec::mutable_mail_user, kMostNameBytes},
    {"--mcs-label", &JobSpec::mcs_label, &JobSpec::mutable_mcs_label, kMostNameBytes},
    {"--mem-bind", &JobSpec::mem_bind, &JobSpec::mutable_mem_bind, kMostListBytes},
    {"--mem-update", &JobSpec::mem_update, &JobSpec::mutable_mem_update, kMostNameBytes},
    {"--network", &JobSpec::network, &JobSpec::mutable_network, kMostNameBytes},
    {"--nodelist", &JobSpec::node_list, &JobSpec::mutable_node_list, kMostListBytes},
    {"--output", &JobSpec::stdout_path, &JobSpec::mutable_stdout_path, kMostPathBytes},
    {"--partition", &JobSpec::partition, &JobSpec::mutable_partition, kMostNameBytes},
    {"--power", &JobSpec::power, &JobSpec::mutable_power, kMostNameBytes},
    {"--prefer", &JobSpec::prefer, &JobSpec::mutable_prefer, kMostNameBytes},
    {"--profile", &JobSpec::profile, &JobSpec::mutable_profile, kMostNameBytes},
    {"--qos", &JobSpec::qos, &JobSpec::mutable_qos, kMostNameBytes},
    {"--reservation", &JobSpec::reservation, &JobSpec::mutable_reservation, kMostNameBytes},
    {"the submitting host's name", &JobSpec::submit_host, &JobSpec::mutable_submit_host, kMostNameBytes},
    {"the command line", &JobSpec::submit_line, &JobSpec::mutable_submit_line, kMostLineBytes},
    {"--tres-bind", &JobSpec::tres_bind, &JobSpec::mutable_tres_bind, kMostNameBytes},
    {"--tres-per-job", &JobSpec::tres_per_job, &JobSpec::mutable_tres_per_job, kMostNameBytes},
    {"--tres-per-node", &JobSpec::tres_per_node, &JobSpec::mutable_tres_per_node, kMostNameBytes},
    {"--tres-per-socket", &JobSpec::tres_per_socket, &JobSpec::mutable_tres_per_socket, kMostNameBytes},
    {"--tres-per-task", &JobSpec::tres_per_task, &JobSpec::mutable_tres_per_task, kMostNameBytes},
    {"--wckey", &JobSpec::wckey, &JobSpec::mutable_wckey, kMostNameBytes},
};

// Lists of small entries: a job has tens of them at most.
constexpr int kMostGres = 256, kMostLimits = 64;

// The image of a container, with what goes with it.
Status check_image(const model::ContainerImage& image) {
  Status fits = check_text("--container-image", image.image(), kMostPathBytes);
  if (fits) fits = check_text("--container-workdir", image.work_dir(), kMostPathBytes);
  if (fits) fits = check_text("--container-name", image.name(), kMostNameBytes);
  if (image.mounts_size() > kMostGres || image.environment_size() > kMostGres)
    return failure("more than 256 --container-mounts or --container-env", model::kPathnameTooLong);
  for (const std::string& mount : image.mounts())
    if (fits) fits = check_text("--container-mounts", mount, 2 * kMostPathBytes);
  for (const std::string& name : image.environment())
    if (fits) fits = check_text("--container-env", name, kMostNameBytes);
  return fits;
}

}  // namespace

Status check_text(std::string_view name, std::string_view text, size_t most) {
  if (text.size() <= most) return {};
  return failure(std::string(name) + " has " + std::to_string(text.size()) + " bytes, at most " +
                     std::to_string(most) + " are allowed",
                 model::kPathnameTooLong);
}

void cut_texts(JobSpec& spec) {
  for (const Limit& limit : kLimits)
    if ((spec.*limit.text)().size() > limit.most) (spec.*limit.mutable_text)()->resize(limit.most);
  size_t bytes = 0;
  for (int i = 0; i < spec.arguments_size(); ++i) {
    bytes += spec.arguments(i).size() + 1;
    if (bytes <= kMostLineBytes) continue;
    spec.mutable_arguments()->DeleteSubrange(i, spec.arguments_size() - i);
    break;
  }
}

Status check_texts(const JobSpec& spec) {
  for (const Limit& limit : kLimits)
    if (const Status fits = check_text(limit.name, (spec.*limit.text)(), limit.most); !fits) return fits;
  // A script's arguments together have the kernel's limit.
  size_t bytes = 0;
  for (const std::string& argument : spec.arguments()) bytes += argument.size() + 1;
  if (bytes > kMostLineBytes)
    return failure("the script's arguments have " + std::to_string(bytes) + " bytes, at most " +
                       std::to_string(kMostLineBytes) + " are allowed",
                   model::kPathnameTooLong);
  for (const auto* list :
       {&spec.gres_per_node(), &spec.gpus(), &spec.gpus_per_task(), &spec.gpus_per_socket()}) {
    if (list->size() > kMostGres) return failure("more than 256 generic resources", model::kPathnameTooLong);
    for (const model::Gres& gres : *list) {
      if (const Status fits = check_text("--gres", gres.name(), kMostNameBytes); !fits) return fits;
      if (const Status fits = check_text("--gres", gres.type(), kMostNameBytes); !fits) return fits;
    }
  }
  if (const Status fits = check_image(spec.container_image()); !fits) return fits;
  if (spec.resource_limits_size() > kMostLimits)
    return failure("more than 64 resource limits", model::kPathnameTooLong);
  for (const model::ResourceLimit& limit : spec.resource_limits())
    if (const Status fits = check_text("--propagate", limit.name(), kMostNameBytes); !fits) return fits;
  return {};
}

}  // namespace minke::submit
