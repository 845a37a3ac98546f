#include "helpers/task_table.h"

#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include "text/state.h"

namespace minke::helpers {

std::string format_ranks(const std::vector<uint32_t>& ranks) {
  std::string text;
  for (size_t i = 0; i < ranks.size();) {
    size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    text += (text.empty() ? "" : ",") + std::to_string(ranks[i]);
    if (end - i > 1) text += "-" + std::to_string(ranks[end - 1]);
    i = end;
  }
  return text;
}

namespace {

std::string tasks_text(const std::vector<uint32_t>& ranks) {
  return (ranks.size() == 1 ? "task " : "tasks ") + format_ranks(ranks);
}

}  // namespace

void TaskTable::collect(uint32_t rank, const std::string& node, int32_t status) {
  if (rank >= ended_.size() || ended_[rank]) return;
  ended_[rank] = true;
  failed_[rank] = status != 0;
  ++ended_count_;
  if (status == 0) return;
  std::string words;
  if (status == text::kOutOfMemory) {
    words = "Out Of Memory";
    exit_code_ = std::max(exit_code_, 1);
  } else if (WIFSIGNALED(status)) {
    words = ::strsignal(WTERMSIG(status));
    if (WTERMSIG(status) == SIGTERM || WTERMSIG(status) == SIGKILL) any_terminated_ = true;
    if (WCOREDUMP(status)) words += " (core dumped)";
    exit_code_ = std::max(exit_code_, 128 + WTERMSIG(status));
  } else {
    words = "Exited with exit code " + std::to_string(WEXITSTATUS(status));
    exit_code_ = std::max(exit_code_, WEXITSTATUS(status));
  }
  const std::pair key(node, std::move(words));
  std::vector<uint32_t>& ranks = news_[key];
  if (ranks.empty()) order_.push_back(key);
  ranks.insert(std::upper_bound(ranks.begin(), ranks.end(), rank), rank);
}

std::vector<std::string> TaskTable::tell() {
  std::vector<std::string> lines;
  for (const auto& key : order_) {
    lines.push_back("srun: error: " + key.first + ": " + tasks_text(news_[key]) + ": " + key.second);
  }
  order_.clear();
  news_.clear();
  return lines;
}

std::vector<std::string> TaskTable::states(const std::string& step) const {
  std::vector<uint32_t> running, exited, failed;
  for (uint32_t rank = 0; rank < ended_.size(); ++rank)
    (!ended_[rank] ? running : failed_[rank] ? failed : exited).push_back(rank);
  std::vector<std::string> lines;
  if (!running.empty()) lines.push_back("srun: " + step + " " + tasks_text(running) + ": running");
  if (!exited.empty()) lines.push_back("srun: " + step + " " + tasks_text(exited) + ": exited");
  if (!failed.empty()) lines.push_back("srun: " + step + " " + tasks_text(failed) + ": exited abnormally");
  return lines;
}

}  // namespace minke::helpers
