#include "portal/sessions.h"

#include "os/random_key.h"

namespace minke::portal {
namespace {

constexpr unsigned kMostFailures = 10;  // in so many seconds
constexpr int64_t kFailureSeconds = 60;
constexpr size_t kMostBrowser = 200;
constexpr int64_t kUnusedSeconds = 12 * 3600;  // until a session ends by itself

}  // namespace

std::string random_word() {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string word;
  for (const char c : os::random_key()) {
    word += kDigits[static_cast<unsigned char>(c) >> 4];
    word += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return word;
}

bool are_equal(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char different = 0;
  for (size_t i = 0; i < a.size(); ++i) different |= static_cast<unsigned char>(a[i] ^ b[i]);
  return different == 0;
}

Sessions::Sessions(size_t most)
    : most_(most),
      cookie_name_("minke-" + random_word().substr(0, 8)),
      program_token_(random_word()),
      login_token_(random_word()) {}

bool Sessions::is_locked(int64_t now) const {
  return failures_ >= kMostFailures && now - failures_since_ < kFailureSeconds;
}

std::optional<std::string> Sessions::log_in(std::string_view token, std::string_view browser, int64_t now) {
  // The right one lets in, however many wrong ones others of this machine show: nobody guesses 128 bits.
  if (!are_equal(token, login_token_)) {
    if (now - failures_since_ >= kFailureSeconds) {
      failures_since_ = now;
      failures_ = 0;
    }
    ++failures_;
    return std::nullopt;
  }
  login_token_ = random_word();
  Session session;
  session.browser = browser.substr(0, kMostBrowser);
  return begin(std::move(session), now);
}

std::string Sessions::begin(Session session, int64_t now) {
  if (sessions_.size() >= most_) {
    auto oldest = sessions_.begin();
    for (auto one = sessions_.begin(); one != sessions_.end(); ++one)
      if (one->second.last_used < oldest->second.last_used) oldest = one;
    sessions_.erase(oldest);
  }
  std::string cookie = random_word() + random_word();
  session.id = random_word().substr(0, 12);
  session.csrf = random_word();
  session.began = session.last_used = now;
  sessions_[cookie] = std::move(session);
  return cookie;
}

const Session* Sessions::find(std::string_view cookie, int64_t now) {
  const auto found = sessions_.find(cookie);
  if (found == sessions_.end()) return nullptr;
  if (now - found->second.last_used > kUnusedSeconds) {
    sessions_.erase(found);
    return nullptr;
  }
  found->second.last_used = now;
  return &found->second;
}

bool Sessions::is_program(std::string_view token) const {
  return are_equal(token, program_token_);
}

bool Sessions::end(std::string_view id) {
  return std::erase_if(sessions_, [&](const auto& one) { return one.second.id == id; }) != 0;
}

}  // namespace minke::portal
