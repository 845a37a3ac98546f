#include "mpi/pmi_space.h"

#include <algorithm>
#include <charconv>

#include "base/result.h"

namespace minke::mpi {
namespace {

constexpr size_t kLongestLine = 64 << 10;    // of PMI-1; its clients send 1 KiB at most
constexpr size_t kLongestMessage = 1 << 20;  // of PMI-2: six digits
constexpr size_t kLengthDigits = 6;
constexpr size_t kMostStored = size_t{256} << 20;  // of all keys and values of a step

using Fields = std::vector<std::pair<std::string, std::string>>;

std::string_view field(const Fields& fields, std::string_view name) {
  for (const auto& [key, value] : fields) {
    if (key == name) return value;
  }
  return {};
}

// "a=1 b=two": PMI-1. The last value of "put" may itself hold '=', so only the first one of a word counts.
Fields parse_words(std::string_view line) {
  Fields fields;
  while (!line.empty()) {
    const size_t start = line.find_first_not_of(" \r");
    if (start == std::string_view::npos) break;
    line.remove_prefix(start);
    const std::string_view word = line.substr(0, line.find_first_of(" \r"));
    line.remove_prefix(word.size());
    const size_t equals = word.find('=');
    fields.emplace_back(word.substr(0, equals),
                        equals == std::string_view::npos ? std::string_view() : word.substr(equals + 1));
  }
  return fields;
}

// "a=1;b=x;;y;": PMI-2, where ";;" stands for a ';' in a value.
Fields parse_message(std::string_view text) {
  Fields fields;
  std::string name, value;
  bool in_value = false;
  const auto finish = [&] {
    if (!name.empty()) fields.emplace_back(std::move(name), std::move(value));
    name.clear();
    value.clear();
    in_value = false;
  };
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ';') {
      if (in_value && i + 1 < text.size() && text[i + 1] == ';') {
        value.push_back(';');
        ++i;
      } else {
        finish();
      }
    } else if (!in_value && c == '=') {
      in_value = true;
    } else {
      (in_value ? value : name).push_back(c);
    }
  }
  finish();
  return fields;
}

std::string escaped(std::string_view value) {
  std::string text;
  for (const char c : value) {
    text.push_back(c);
    if (c == ';') text.push_back(';');
  }
  return text;
}

std::string message_2(std::string_view command, const Fields& fields, const Fields& answer) {
  std::string body = "cmd=" + std::string(command) + "-response;";
  if (const std::string_view thread = field(fields, "thrid"); !thread.empty()) {
    body.append("thrid=").append(escaped(thread)).append(";");
  }
  for (const auto& [name, value] : answer) body.append(name).append("=").append(escaped(value)).append(";");
  std::string length = std::to_string(body.size());
  length.resize(kLengthDigits, ' ');
  return length + body;
}

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::string process_mapping(const std::vector<uint32_t>& node_of_rank) {
  struct Block {
    uint32_t first = 0, nodes = 0, ranks = 0;
  };
  std::vector<Block> blocks;
  for (size_t rank = 0; rank < node_of_rank.size();) {
    size_t end = rank;
    while (end < node_of_rank.size() && node_of_rank[end] == node_of_rank[rank]) ++end;
    const auto here = static_cast<uint32_t>(end - rank);
    if (!blocks.empty() && blocks.back().ranks == here &&
        blocks.back().first + blocks.back().nodes == node_of_rank[rank]) {
      ++blocks.back().nodes;
    } else {
      blocks.push_back({node_of_rank[rank], 1, here});
    }
    rank = end;
  }
  std::string text = "(vector";
  for (const Block& block : blocks) {
    text += ",(" + std::to_string(block.first) + "," + std::to_string(block.nodes) + "," +
            std::to_string(block.ranks) + ")";
  }
  return text + ")";
}

PmiSpace::PmiSpace(std::string job_id, std::vector<uint32_t> node_of_rank)
    : job_id_(std::move(job_id)), node_of_rank_(std::move(node_of_rank)), ranks_(node_of_rank_.size()) {
  MINKE_CHECK(!ranks_.empty());
}

bool PmiSpace::receive(uint32_t rank, std::string_view bytes, std::vector<Output>& out) {
  MINKE_CHECK(rank < ranks_.size());
  Rank& self = ranks_[rank];
  self.buffer.append(bytes);
  size_t done = 0;
  const auto rest = [&] { return std::string_view(self.buffer).substr(done); };
  bool fine = true;
  while (fine && !rest().empty()) {
    if (self.version == 2) {
      if (rest().size() < kLengthDigits) break;
      std::string_view digits = rest().substr(0, kLengthDigits);
      digits = digits.substr(0, digits.find(' '));
      const auto length = number(digits);
      fine = length && *length >= 0 && static_cast<size_t>(*length) <= kLongestMessage;
      if (!fine || rest().size() < kLengthDigits + static_cast<size_t>(*length)) break;
      const Fields fields = parse_message(rest().substr(kLengthDigits, static_cast<size_t>(*length)));
      done += kLengthDigits + static_cast<size_t>(*length);
      fine = command_2(rank, fields, out);
    } else {
      const size_t end = rest().find('\n');
      if (end == std::string_view::npos) {
        fine = rest().size() <= kLongestLine;
        break;
      }
      const std::string line(rest().substr(0, end));
      done += end + 1;
      fine = take_line(rank, line, out);
    }
  }
  self.buffer.erase(0, done);
  return fine;
}

bool PmiSpace::take_line(uint32_t rank, std::string_view line, std::vector<Output>& out) {
  Rank& self = ranks_[rank];
  if (self.in_spawn || line.starts_with("mcmd=")) {
    self.in_spawn = line != "endcmd";
    if (!self.in_spawn) out.push_back({rank, "cmd=spawn_result rc=-1 errmsg=not_supported\n"});
    return true;
  }
  return command_1(rank, parse_words(line), out);
}

// Slurm's words: its plugin gives the same answers to these lines.
bool PmiSpace::command_1(uint32_t rank, const Fields& fields, std::vector<Output>& out) {
  Rank& self = ranks_[rank];
  const std::string_view command = field(fields, "cmd");
  const auto answer = [&](std::string text) { out.push_back({rank, std::move(text) + "\n"}); };
  if (command == "init") {
    const auto version = number(field(fields, "pmi_version"));
    const bool known = version >= 1 && version <= 2;
    answer("cmd=response_to_init pmi_version=" + std::to_string(known ? *version : 1) +
           " pmi_subversion=" + (version == 1 ? "1" : "0") + " rc=" + (known ? "0" : "-1"));
    if (!known) return true;  // it may ask for another one
    self.version = *version;
    if (*version == 1) self.initialised = true;
    return true;
  }
  if (self.version != 1) return false;
  if (command == "get_maxes") {
    answer("cmd=maxes rc=0 kvsname_max=256 keylen_max=256 vallen_max=1024");
  } else if (command == "get_universe_size") {
    answer("cmd=universe_size rc=0 size=" + std::to_string(ranks_.size()));
  } else if (command == "get_appnum") {
    answer("cmd=appnum rc=0 appnum=0");
  } else if (command == "barrier_in") {
    enter_barrier(rank, out);
  } else if (command == "finalize") {
    self.finalised = true;
    answer("cmd=finalize_ack rc=0");
  } else if (command == "abort") {
    if (!aborted_) aborted_ = PmiAbort{rank, number(field(fields, "exitcode")).value_or(1), ""};
  } else {
    return kvs_command_1(rank, command, fields, out) || name_command_1(rank, command, fields, out);
  }
  return true;
}

bool PmiSpace::kvs_command_1(uint32_t rank, std::string_view command, const Fields& fields,
                             std::vector<Output>& out) {
  const auto answer = [&](std::string text) { out.push_back({rank, std::move(text) + "\n"}); };
  const std::string key(field(fields, "key"));
  if (command == "get_my_kvsname") {
    answer("cmd=my_kvsname rc=0 kvsname=" + job_id_);
  } else if (command == "put") {
    answer(put(values_, key, std::string(field(fields, "value"))) ? "cmd=put_result rc=0"
                                                                  : "cmd=put_result rc=-1 msg=no_room");
  } else if (command == "get") {
    std::optional<std::string> value = job_attribute(key);
    if (const auto found = values_.find(key); found != values_.end()) value = found->second;
    answer(value ? "cmd=get_result rc=0 value=" + *value : "cmd=get_result rc=-1 msg=key_not_found");
  } else {
    return false;
  }
  return true;
}

// Ports of services, by which programs of a job find one another.
bool PmiSpace::name_command_1(uint32_t rank, std::string_view command, const Fields& fields,
                              std::vector<Output>& out) {
  const auto answer = [&](std::string text) { out.push_back({rank, std::move(text) + "\n"}); };
  const std::string service(field(fields, "service"));
  if (command == "publish_name") {
    const bool kept = put(names_, service, std::string(field(fields, "port")));
    answer(kept ? "cmd=publish_result rc=0 info=ok" : "cmd=publish_result rc=-1 info=failed");
  } else if (command == "unpublish_name") {
    const bool there = names_.erase(service) > 0;
    answer(there ? "cmd=unpublish_result rc=0 info=ok" : "cmd=unpublish_result rc=-1 info=failed");
  } else if (command == "lookup_name") {
    const auto found = names_.find(service);
    answer(found == names_.end() ? "cmd=lookup_result rc=-1 info=failed"
                                 : "cmd=lookup_result rc=0 info=ok port=" + found->second);
  } else {
    return false;
  }
  return true;
}

bool PmiSpace::command_2(uint32_t rank, const Fields& fields, std::vector<Output>& out) {
  Rank& self = ranks_[rank];
  const std::string_view command = field(fields, "cmd");
  const auto answer = [&](const Fields& values) {
    out.push_back({rank, message_2(command, fields, values)});
  };
  if (command == "fullinit") {
    self.initialised = true;
    answer({{"rc", "0"},
            {"pmi-version", "2"},
            {"pmi-subversion", "0"},
            {"rank", std::to_string(rank)},
            {"size", std::to_string(ranks_.size())},
            {"appnum", "0"},
            {"debugged", "FALSE"},
            {"pmiverbose", "FALSE"}});
  } else if (command == "finalize") {
    self.finalised = true;
    answer({{"rc", "0"}});
  } else if (command == "abort") {
    if (!aborted_) aborted_ = PmiAbort{rank, 1, std::string(field(fields, "msg"))};
  } else if (command == "job-getid") {
    answer({{"rc", "0"}, {"jobid", job_id_}});
  } else if (command == "spawn" || command == "job-connect" || command == "job-disconnect") {
    answer({{"rc", "-1"}, {"errmsg", "not supported"}});
  } else {
    return kvs_command_2(rank, command, fields, out);
  }
  return true;
}

bool PmiSpace::kvs_command_2(uint32_t rank, std::string_view command, const Fields& fields,
                             std::vector<Output>& out) {
  Rank& self = ranks_[rank];
  const auto answer = [&](const Fields& values) {
    out.push_back({rank, message_2(command, fields, values)});
  };
  const auto found = [&](const std::optional<std::string>& value) {
    if (!value) return answer({{"rc", "0"}, {"found", "FALSE"}});
    answer({{"rc", "0"}, {"found", "TRUE"}, {"value", *value}});
  };
  const std::string key(field(fields, "key"));
  const std::string value(field(fields, "value"));
  const auto lookup = [](const std::map<std::string, std::string>& values, const std::string& name) {
    const auto at = values.find(name);
    return at == values.end() ? std::nullopt : std::optional(at->second);
  };
  if (command == "kvs-put") {
    answer({{"rc", put(values_, key, value) ? "0" : "-1"}});
  } else if (command == "kvs-get") {
    found(lookup(values_, key));
  } else if (command == "kvs-fence") {
    self.thread = field(fields, "thrid");
    enter_barrier(rank, out);
  } else if (command == "info-putnodeattr") {
    answer({{"rc", "0"}});
    put_node_attribute(rank, key, value, out);
  } else if (command == "info-getnodeattr") {
    const auto at = node_attributes_.find({node_of_rank_[rank], key});
    if (at != node_attributes_.end()) {
      found(at->second);
    } else if (field(fields, "wait") == "TRUE") {
      self.waiting.push_back({key, std::string(field(fields, "thrid"))});
    } else {
      found(std::nullopt);
    }
  } else if (command == "info-getjobattr") {
    found(job_attribute(key));
  } else if (command == "name-publish") {
    answer(
        {{"rc",
          put(names_, std::string(field(fields, "name")), std::string(field(fields, "port"))) ? "0" : "-1"}});
  } else if (command == "name-unpublish") {
    answer({{"rc", names_.erase(std::string(field(fields, "name"))) > 0 ? "0" : "-1"}});
  } else if (command == "name-lookup") {
    const auto port = lookup(names_, std::string(field(fields, "name")));
    answer(port ? Fields{{"rc", "0"}, {"found", "TRUE"}, {"port", *port}}
                : Fields{{"rc", "0"}, {"found", "FALSE"}});
  } else {
    return false;
  }
  return true;
}

void PmiSpace::enter_barrier(uint32_t rank, std::vector<Output>& out) {
  if (!std::exchange(ranks_[rank].at_barrier, true)) ++at_barrier_;
  if (at_barrier_ < ranks_.size()) return;
  at_barrier_ = 0;
  for (uint32_t i = 0; i < ranks_.size(); ++i) {
    ranks_[i].at_barrier = false;
    out.push_back({i, ranks_[i].version == 2
                          ? message_2("kvs-fence", {{"thrid", ranks_[i].thread}}, {{"rc", "0"}})
                          : "cmd=barrier_out rc=0\n"});
  }
}

void PmiSpace::put_node_attribute(uint32_t rank, const std::string& key, const std::string& value,
                                  std::vector<Output>& out) {
  const uint32_t node = node_of_rank_[rank];
  stored_bytes_ += key.size() + value.size();
  if (stored_bytes_ > kMostStored) return;
  node_attributes_[{node, key}] = value;
  for (uint32_t i = 0; i < ranks_.size(); ++i) {
    if (node_of_rank_[i] != node) continue;
    std::erase_if(ranks_[i].waiting, [&](const Waiting& waiting) {
      if (waiting.key != key) return false;
      out.push_back({i, message_2("info-getnodeattr", {{"thrid", waiting.thread}},
                                  {{"rc", "0"}, {"found", "TRUE"}, {"value", value}})});
      return true;
    });
  }
}

bool PmiSpace::put(std::map<std::string, std::string>& to, const std::string& key, const std::string& value) {
  if (key.empty() || stored_bytes_ + key.size() + value.size() > kMostStored) return false;
  stored_bytes_ += key.size() + value.size();
  to[key] = value;
  return true;
}

std::optional<std::string> PmiSpace::job_attribute(std::string_view key) const {
  if (key == "PMI_process_mapping") return process_mapping(node_of_rank_);
  if (key == "universeSize") return std::to_string(ranks_.size());
  return std::nullopt;
}

}  // namespace minke::mpi
