#include "sim/accounts.h"

#include <charconv>
#include <set>
#include <utility>
#include <vector>

#include "model/accounts.pb.h"
#include "text/number.h"

namespace minke::sim {
namespace {

std::string lower(std::string_view text) {
  std::string out;
  for (const char c : text) out += text::to_lower(c);
  return out;
}

std::string_view unquoted(std::string_view text) {
  text = text::trim(text);
  if (text.size() >= 2 && (text.front() == '\'' || text.front() == '"') && text.back() == text.front())
    text = text.substr(1, text.size() - 2);
  return text;
}

// Returns the text up to the first colon outside of quotes, and removes both.
std::string_view next_field(std::string_view& text) {
  char quote = 0;
  std::size_t end = 0;
  for (; end < text.size() && (quote != 0 || text[end] != ':'); ++end) {
    if (quote == 0 && (text[end] == '\'' || text[end] == '"')) {
      quote = text[end];
    } else if (text[end] == quote) {
      quote = 0;
    }
  }
  const std::string_view field = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return field;
}

class Reader {
 public:
  Status line(std::string_view text) {
    const std::size_t dash = text.find(" - ");
    if (dash == std::string_view::npos) return failure("what is no comment has the form KIND - 'NAME':…");
    const std::string kind = lower(text::trim(text.substr(0, dash)));
    text.remove_prefix(dash + 3);
    const std::string name = lower(unquoted(next_field(text)));
    if (name.empty()) return failure("a name is missing");
    if (kind == "cluster" || kind == "machine") return {};
    if (kind == "parent") {
      if (!accounts_.contains(name)) return failure("the account " + name + " has had no line before");
      parent_ = name;
      return {};
    }
    if (kind != "account" && kind != "user")
      return failure("'" + kind + "' is none of Cluster, Parent, Account and User");
    model::AssociationRecord record;
    record.set_shares(1);
    while (!text.empty()) {
      if (auto done = setting(record, next_field(text)); !done) return done;
    }
    if (kind == "account") {
      if (name == accounts::kRootAccount || !accounts_.insert(name).second) return {};
      record.set_account(name);
      record.set_parent_account(parent_);
      change_.accounts.emplace_back().set_name(name);
    } else {
      if (parent_ == accounts::kRootAccount) return {};  // root itself: an administrator, who needs no share
      if (!users_.insert({parent_, name}).second) return {};  // for another partition
      record.set_account(parent_);
      record.set_user(name);
      model::UserRecord& user = change_.users.emplace_back();
      user.set_name(name);
      user.set_default_account(parent_);
    }
    change_.associations.push_back(std::move(record));
    return {};
  }

  const accounts::AccountsChange& change() const { return change_; }

 private:
  static Status setting(model::AssociationRecord& record, std::string_view field) {
    const std::size_t equals = field.find('=');
    if (equals == std::string_view::npos) return {};  // the rest of a TRES, as in gres/gpu:a100=2
    const std::string name = lower(text::trim(field.substr(0, equals)));
    const std::string value = lower(unquoted(field.substr(equals + 1)));
    if (name != "fairshare" && name != "shares" && name != "coreyears" && name != "rguyears") return {};
    if (name == "fairshare" && value == "parent") {
      record.set_shares(accounts::kSharesAsParent);
      return {};
    }
    double number = 0;
    const auto read = std::from_chars(value.data(), value.data() + value.size(), number);
    if (read.ec != std::errc() || read.ptr != value.data() + value.size() || !(number >= 0) ||
        number > accounts::kSharesAsParent)
      return failure("'" + value + "' is no number for " + name);
    if (name == "coreyears") {
      record.set_core_years(number);
    } else if (name == "rguyears") {
      record.set_rgu_years(number);
    } else {
      record.set_shares(static_cast<std::uint32_t>(number));
    }
    return {};
  }

  accounts::AccountsChange change_;
  std::set<std::string> accounts_{std::string(accounts::kRootAccount)};
  std::set<std::pair<std::string, std::string>> users_;
  std::string parent_{accounts::kRootAccount};
};

}  // namespace

Result<accounts::AccountBook> read_accounts(std::string_view text) {
  Reader reader;
  std::size_t number = 0;
  for (const std::string_view line : text::split(text, '\n')) {
    ++number;
    const std::string_view trimmed = text::trim(line);
    if (trimmed.empty() || trimmed.front() == '#') continue;
    if (const Status done = reader.line(trimmed); !done)
      return failure("line " + std::to_string(number) + ": " + done.error().message);
  }
  accounts::AccountBook book;
  if (const Status done = book.apply(reader.change()); !done) return failure(done.error().message);
  return book;
}

std::string account_name(const Trace& trace, const TraceJob& job) {
  const std::string& name = trace.names[job.account];
  return name.empty() ? "none" : lower(name);
}

std::string user_name(const Trace& trace, const TraceJob& job) {
  const std::string& name = trace.names[job.user];
  return name.empty() ? "none" : lower(name);
}

Status add_missing(accounts::AccountBook& book, const Trace& trace) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
  std::set<std::string> accounts, users;
  std::set<std::pair<std::string, std::string>> pairs;
  accounts::AccountsChange change;
  for (const TraceJob& job : trace.jobs) {
    if (!seen.insert({job.account, job.user}).second) continue;
    const std::string account = account_name(trace, job), user = user_name(trace, job);
    if (book.find(account) == nullptr && accounts.insert(account).second) {
      change.accounts.emplace_back().set_name(account);
      model::AssociationRecord& record = change.associations.emplace_back();
      record.set_account(account);
      record.set_parent_account(std::string(accounts::kRootAccount));
      record.set_shares(1);
    }
    if (book.user(user) == nullptr && users.insert(user).second) {
      model::UserRecord& record = change.users.emplace_back();
      record.set_name(user);
      record.set_default_account(account);
    }
    if (book.find(account, user) == nullptr && pairs.insert({account, user}).second) {
      model::AssociationRecord& record = change.associations.emplace_back();
      record.set_account(account);
      record.set_user(user);
      record.set_shares(1);
    }
  }
  return book.apply(change);
}

}  // namespace minke::sim
