// The commands of scontrol. One thread; it asks (and starts) the daemon only if a command needs it. Every
// method prints its output and returns the exit status.
#pragma once

#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/actions.pb.h"
#include "cli/scontrol/show.h"
#include "engine/engine.h"
#include "view/text.h"

namespace minke::api {
class UpdateReservationRequest;
}  // namespace minke::api
namespace minke::model {
class StepRecord;
}  // namespace minke::model

namespace minke::cli {

class Scontrol {
 public:
  view::ShowOptions& options() { return options_; }
  void set_quiet(bool quiet) { quiet_ = quiet; }
  void set_all(bool all) { all_ = all; }
  void set_verbose() { verbose_ = true; }

  // Runs one command with its arguments; not empty.
  int run(const std::vector<std::string>& words);

 private:
  using Words = std::vector<std::string>;

  // verbs.cpp: the words, and the function of each.
  struct Verb;
  static const Verb kVerbs[];

  // Commands that act on running jobs, or on the daemon (actions.cpp).
  int suspend(const Words& words, bool resume);
  int top(const Words& words);
  int notify(const Words& words);
  int list_processes(const std::string& id);
  int show_job_of_process(const std::string& pid);
  int tell_process(const Words& words);
  int tell_token(const Words& words);
  int tell_error(const std::string& number);
  int set_debug(const std::string& level);
  int set_debug_flags(const Words& words);
  int show_completing();
  int shut_down(const Words& words);
  int show_licenses(const std::string& name);

  // on_node.cpp
  Result<std::vector<model::StepRecord>> steps_on(const std::string& node);  // the cluster is open
  int list_steps(const Words& words, bool jobs_only);
  int list_accounts(const Words& words);
  int tell_addresses(const Words& words);

  // show.cpp: what can be shown, and how.
  struct Entity;
  static const Entity kEntities[];
  int show(const Words& words);
  int show_jobs(const std::string& id);
  int show_steps(const std::string& id);
  int show_nodes(const std::string& names);
  int show_aliases();
  int show_partitions(const std::string& name);
  int show_reservations(const std::string& name);
  int show_configuration();
  int show_limits(const Words& words);
  int show_slurmd();
  int show_hosts(const std::string& entity, std::optional<std::string> argument);
  template <const std::string_view& kEntity>
  static int show_hosts(Scontrol& its, const std::string& id, const Words& words);

  int change_hold(const Words& words, api::HoldRequest::Kind kind);
  int requeue(const Words& words, bool hold);
  int update(const Words& words);
  int update_reservation(const api::UpdateReservationRequest& request);
  int create(const Words& words);
  int remove(const Words& words);
  // node_words.cpp: nodes are declared in the configuration; these say why none is made, or goes.
  static bool names_nodes(const std::string& word);
  int create_nodes(const Words& words);
  int remove_nodes(const std::string& named, const std::string& shown);
  int ping();
  int reconfigure();
  int wait_job(const std::string& id);
  int write(const Words& words);
  int write_script(const Words& words);
  int write_configuration(std::string path);
  static Status save(const std::string& path, const std::string& text, mode_t mode);

  // Opens it once; returns nullptr, with the reason printed, if that fails.
  engine::Engine* open_cluster();
  // Prints what went wrong for each job; returns 1 if anything did.
  int report(const api::ActionReply& reply, const char* summary);
  int complain(const std::string& text);  // on stderr, unless quiet
  view::DisplayContext context(int64_t now);
  // With --verbose: when the records were read, and how many there are.
  std::string heading(int64_t now, size_t records);

  std::unique_ptr<engine::Engine> cluster_;
  view::ShowOptions options_;
  bool quiet_ = false;
  bool all_ = ::getuid() == 0;  // hidden partitions, too
  bool verbose_ = false;
};

}  // namespace minke::cli
