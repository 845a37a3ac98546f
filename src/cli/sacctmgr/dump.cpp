#include "cli/sacctmgr/dump.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include "cli/sacctmgr/change.h"
#include "cli/sacctmgr/settings.h"
#include "model/accounts.pb.h"
#include "os/files.h"
#include "text/number.h"

namespace minke::cli {
namespace {

constexpr size_t kMaxFileBytes = size_t{64} << 20;

constexpr std::string_view kHead =
    "# To edit this file: a Cluster line, then for each account that has any, 'Parent - NAME' and what is in "
    "it:\n"
    "# Account - 'name':Fairshare=3:GrpTRES=cpu=10:Description='what it is':Organization='whose'\n"
    "# User - 'name':DefaultAccount='name':Fairshare=1:MaxJobs=4\n"
    "# A parent must have had its own line before; root is there from the beginning.\n";

void settings(const model::AssociationRecord& one, std::string& out) {
  const model::Limits& limits = one.limits();
  const auto number = [&](std::string_view name, bool is_set, uint64_t value) {
    if (is_set) out += fmt::format(":{}={}", name, value);
  };
  const auto tres = [&](std::string_view name, const auto& list) {
    if (!list.empty()) out += fmt::format(":{}={}", name, tres_text(list));
  };
  if (!one.default_qos().empty()) out += ":DefaultQOS='" + one.default_qos() + "'";
  number("Fairshare", true, one.shares());
  number("GrpJobs", limits.has_grp_jobs(), limits.grp_jobs());
  number("GrpJobsAccrue", limits.has_grp_jobs_accrue(), limits.grp_jobs_accrue());
  number("GrpSubmitJobs", limits.has_grp_submit_jobs(), limits.grp_submit_jobs());
  tres("GrpTRES", limits.grp_tres());
  tres("GrpTRESMins", limits.grp_tres_mins());
  tres("GrpTRESRunMins", limits.grp_tres_run_mins());
  number("GrpWall", limits.has_grp_wall(), limits.grp_wall());
  number("MaxJobs", limits.has_max_jobs(), limits.max_jobs());
  number("MaxJobsAccrue", limits.has_max_jobs_accrue(), limits.max_jobs_accrue());
  number("MaxSubmitJobs", limits.has_max_submit_jobs(), limits.max_submit_jobs());
  tres("MaxTRESPerJob", limits.max_tres());
  tres("MaxTRESPerNode", limits.max_tres_per_node());
  tres("MaxTRESMinsPerJob", limits.max_tres_mins());
  number("MaxWallDurationPerJob", limits.has_max_wall(), limits.max_wall());
  number("Priority", one.has_priority(), one.priority());
  if (!one.qos().empty()) out += fmt::format(":QOS='{}'", fmt::join(one.qos(), ","));
  if (one.core_years() > 0) out += fmt::format(":CoreYears={}", one.core_years());
  if (one.rgu_years() > 0) out += fmt::format(":RGUYears={}", one.rgu_years());
  out += '\n';
}

std::string dump_text(const AccountingSession& session) {
  const accounts::AccountBook& book = session.book();
  std::string out(kHead);
  out += "Cluster - '" + session.cluster() + "'";
  settings(*book.association(accounts::kRootAssociation), out);
  std::vector<uint32_t> open{accounts::kRootAssociation};  // breadth first, as Slurm writes it
  for (size_t i = 0; i < open.size(); ++i) {
    const auto children = book.children(open[i]);
    if (children.empty()) continue;
    out += "Parent - '" + book.association(open[i])->account() + "'\n";
    for (const uint32_t id : children) {
      const model::AssociationRecord& one = *book.association(id);
      if (one.user().empty()) {
        const model::AccountRecord& account = *book.account(one.account());
        out += "Account - '" + one.account() + "':Description='" + account.description() +
               "':Organization='" + account.organization() + "'";
        open.push_back(id);
      } else {
        const model::UserRecord& user = *book.user(one.user());
        out += "User - '" + one.user() + "'";
        if (!one.partition().empty()) out += ":Partition='" + one.partition() + "'";
        out += ":DefaultAccount='" + user.default_account() + "'";
        if (user.admin_level() != model::ADMIN_NONE)
          out += ":AdminLevel='" + admin_level_text(user.admin_level()) + "'";
        for (const auto& [name, account] : book.accounts()) {
          const auto& list = account.coordinators();
          if (name == one.account() && std::find(list.begin(), list.end(), one.user()) != list.end())
            out += ":Coordinator='" + name + "'";
        }
      }
      settings(one, out);
    }
  }
  return out;
}

// Splits "NAME=VALUE" fields at colons, except within quotes.
std::vector<std::string> split_fields(std::string_view text) {
  std::vector<std::string> fields(1);
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    }
    // A colon inside a TRES, as in gres/gpu:a100=2, is followed by no setting's name; see join below.
    if (c == ':' && quote == 0) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  // Joins the parts of gres/gpu:a100=4.
  for (size_t i = 1; i < fields.size();) {
    const size_t slash = fields[i - 1].rfind('/');
    const bool gres = slash != std::string::npos && fields[i - 1].find('=', slash) == std::string::npos &&
                      fields[i - 1].find('=') != std::string::npos;
    if (gres) {
      fields[i - 1] += ":" + fields[i];
      fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  return fields;
}

std::string unquoted(std::string_view text) {
  text = text::trim(text);
  if (text.size() >= 2 && (text.front() == '\'' || text.front() == '"') && text.back() == text.front())
    text = text.substr(1, text.size() - 2);
  return text::lower_case(text);
}

class Loader {
 public:
  // `clean`: ignores what the book has.
  Loader(AccountingSession& session, bool clean) : session_(session), clean_(clean) {}

  const std::string& cluster() const { return cluster_; }  // of the Cluster line; empty before it
  const std::string& classification() const { return classification_; }

  Status line(std::string_view text) {
    const size_t dash = text.find(" - ");
    if (dash == std::string_view::npos) return failure("what is no comment has the form KIND - 'NAME':…");
    const std::string kind = unquoted(text.substr(0, dash));
    std::vector<std::string> fields = split_fields(text::trim(text.substr(dash + 3)));
    const std::string name = unquoted(fields.front());
    if (name.empty()) return failure("a name is missing");
    std::vector<Word> words;
    std::vector<std::string> owned(fields.begin() + 1, fields.end());
    std::vector<char*> pointers;
    for (std::string& one : owned) {
      if (!one.empty()) pointers.push_back(one.data());
    }
    words = split_words(pointers).where;
    if (kind == "parent" || kind == "account" || kind == "user" || kind == "cluster" || kind == "machine") {
      if (kind == "parent") {
        parent_ = name;
        if (!known(name)) return failure("the account " + name + " has had no line before it is a parent");
        return {};
      }
      if (kind == "cluster" || kind == "machine") cluster_ = name;
      return kind == "account" ? account(name, words) : kind == "user" ? user(name, words) : root(words);
    }
    return failure("'" + kind + "' is none of Cluster, Parent, Account and User");
  }

 private:
  bool known(const std::string& account) const {
    if (session_.book().find(account) != nullptr) return true;
    return std::any_of(session_.change.associations.begin(), session_.change.associations.end(),
                       [&](const auto& one) { return one.account() == account; });
  }

  template <typename Other>
  Status apply(model::AssociationRecord& record, const std::vector<Word>& words, Other other) {
    for (const Word& word : words) {
      if (other(word)) continue;
      const auto done = set_association(record, word, session_.book());
      if (!done) return failure(done.error());
      if (!*done) return failure("'" + word.text + "' is not known");
    }
    return {};
  }

  // Settings that the file omits keep their values, as in Slurm.
  model::AssociationRecord start_from(const model::AssociationRecord* before) const {
    if (before != nullptr && !clean_) return *before;
    model::AssociationRecord record;
    if (before != nullptr) record.set_id(before->id());
    record.set_shares(1);
    return record;
  }

  Status root(const std::vector<Word>& words) {
    model::AssociationRecord record = *session_.book().association(accounts::kRootAssociation);
    const Status done = apply(record, words, [&](const Word& word) {
      if (word.name == "classification") classification_ = unquoted(word.value);
      return word.name == "classification";
    });
    if (done) session_.change.associations.push_back(std::move(record));
    return done;
  }

  Status account(const std::string& name, const std::vector<Word>& words) {
    const auto* before = session_.book().find(name);
    model::AssociationRecord record = start_from(before);
    record.set_account(name);
    if (name != accounts::kRootAccount) record.set_parent_account(parent_);
    const auto* known = session_.book().account(name);
    model::AccountRecord about = known != nullptr ? *known : model::AccountRecord();
    about.set_name(name);
    if (about.description().empty()) about.set_description(name);
    if (about.organization().empty()) about.set_organization(name);
    const Status done = apply(record, words, [&](const Word& word) {
      if (word.name == "description") about.set_description(unquoted(word.value));
      if (word.name == "organization") about.set_organization(unquoted(word.value));
      return word.name == "description" || word.name == "organization";
    });
    if (!done) return done;
    session_.change.accounts.push_back(std::move(about));
    session_.change.associations.push_back(std::move(record));
    return {};
  }

  Status user(const std::string& name, const std::vector<Word>& words) {
    std::string partition, default_account;
    std::optional<model::AdminLevel> level;
    std::vector<std::string> coordinates;
    std::string_view named_partition;
    for (const Word& word : words) {
      if (word.name == "partition") named_partition = word.value;
    }
    model::AssociationRecord record =
        start_from(session_.book().find(parent_, name, unquoted(named_partition)));
    record.set_account(parent_);
    record.set_user(name);
    const Status done = apply(record, words, [&](const Word& word) {
      if (word.name == "partition") partition = unquoted(word.value);
      if (word.name == "defaultaccount") default_account = unquoted(word.value);
      if (word.name == "adminlevel") level = parse_admin_level(unquoted(word.value));
      if (word.name == "coordinator") coordinates = lower_list(word.value);
      return word.name == "partition" || word.name == "defaultaccount" || word.name == "adminlevel" ||
             word.name == "coordinator" || word.name == "defaultwckey";
    });
    if (!done) return done;
    record.set_partition(partition);
    model::UserRecord about;
    for (const auto& one : session_.change.users) {
      if (one.name() == name) about = one;
    }
    if (const auto* before = session_.book().user(name); before != nullptr && about.name().empty())
      about = *before;
    about.set_name(name);
    if (level) about.set_admin_level(*level);
    if (!default_account.empty() || about.default_account().empty())
      about.set_default_account(default_account.empty() ? parent_ : default_account);
    session_.change.users.push_back(std::move(about));
    session_.change.associations.push_back(std::move(record));
    for (auto& one : session_.change.accounts) {
      if (std::find(coordinates.begin(), coordinates.end(), one.name()) == coordinates.end()) continue;
      auto& list = *one.mutable_coordinators();
      if (std::find(list.begin(), list.end(), name) == list.end()) *list.Add() = name;
    }
    return {};
  }

  AccountingSession& session_;
  std::string parent_ = std::string(accounts::kRootAccount);
  std::string cluster_, classification_;
  bool clean_;
};

// Keeps only what is new: removes what the book has unchanged.
template <typename Record, typename Known>
void keep_new(std::vector<Record>& records, Known known) {
  std::erase_if(records, [&](const Record& one) {
    const Record* before = known(one);
    return before != nullptr && before->SerializeAsString() == one.SerializeAsString();
  });
}

}  // namespace

int dump_accounts(AccountingSession& session, std::span<char* const> words) {
  std::string path, cluster;
  for (const Word& word : split_words(words).where) {
    if (word.name == "file") {
      path = word.value;
    } else if (word.name.empty() || word.name == "cluster" || word.name == "name") {
      cluster = word.value;
    } else {
      return refuse(" Unknown option: " + word.text);
    }
  }
  if (cluster.empty()) return refuse(" We need a cluster to dump.");
  if (!text::equals_ignoring_case(cluster, session.cluster()))
    return refuse(" Cluster " + cluster + " doesn't exist.");
  if (path.empty()) path = "./" + session.cluster() + ".cfg";
  const std::string text = dump_text(session);
  std::ofstream file(path, std::ios::trunc);
  file << text;
  file.close();
  if (!file) return refuse("sacctmgr: error: " + path + ": " + std::strerror(errno));
  for (const std::string_view line : text::split(text, '\n')) {  // also printed, as in Slurm
    if (line.empty() || line.front() == '#') continue;
    std::fprintf(stderr, "sacctmgr: %.*s\n", static_cast<int>(line.size()), line.data());
  }
  return 0;
}

int load_accounts(AccountingSession& session, std::span<char* const> words) {
  std::string path;
  bool clean = false;
  for (const Word& word : split_words(words).where) {
    if (word.name == "file" || (word.name.empty() && !text::equals_ignoring_case(word.value, "clean"))) {
      path = word.value;
    } else if (word.name.empty()) {
      clean = true;
    } else if (word.name != "cluster") {
      return refuse(" Unknown option: " + word.text);
    }
  }
  if (path.empty()) return refuse(" No file given to load.");
  const auto text = os::read_file(path, kMaxFileBytes);
  if (!text) return refuse("sacctmgr: error: Unable to read \"" + path + "\": " + text.error().message);
  if (clean) {
    for (const uint32_t id : session.book().children(accounts::kRootAssociation)) {
      const auto& one = *session.book().association(id);
      if (one.user().empty()) session.change.removed_associations.push_back(id);
    }
  }
  Loader loader(session, clean);
  int number = 0;
  for (const std::string_view line : text::split(*text, '\n')) {
    ++number;
    const std::string_view trimmed = text::trim(line);
    if (trimmed.empty() || trimmed.front() == '#') continue;
    if (const Status done = loader.line(trimmed); !done)
      return refuse("sacctmgr: error: " + path + ":" + std::to_string(number) + ": " + done.error().message);
  }
  // A removed record that comes again is new.
  if (clean) {
    for (auto& one : session.change.associations) {
      for (const uint32_t id : session.change.removed_associations) {
        if (one.id() != 0 && session.book().below(one.id(), id)) one.set_id(0);
      }
    }
  }
  const accounts::AccountBook& book = session.book();
  if (!loader.cluster().empty()) session.say("For cluster " + loader.cluster() + "\n");
  if (std::string kind = loader.classification(); !kind.empty()) {
    kind[0] = text::to_upper(kind[0]);
    session.say("Classification: " + kind + "\n");
  }
  if (!clean) {
    keep_new(session.change.associations, [&](const auto& one) { return book.association(one.id()); });
    keep_new(session.change.accounts, [&](const auto& one) { return book.account(one.name()); });
    keep_new(session.change.users, [&](const auto& one) { return book.user(one.name()); });
    if (session.change.associations.empty() && session.change.accounts.empty() &&
        session.change.users.empty()) {
      session.say(" Nothing new added.\n");
      return 0;
    }
  }
  const size_t count = session.change.associations.size();
  session.say(fmt::format(" {} associations, {} accounts and {} lines of users from {}\n", count,
                          session.change.accounts.size(), session.change.users.size(), path));
  return session.commit();
}

}  // namespace minke::cli
