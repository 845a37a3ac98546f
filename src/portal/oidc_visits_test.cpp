#include "portal/oidc_visits.h"

#include <gtest/gtest.h>

namespace minke::portal {
namespace {

const OidcSettings kSettings{"https://id.example.org", "min ke", "", "preferred_username", "example.org"};
const OidcProvider kProvider{"https://id.example.org/auth?x=1", "https://id.example.org/token",
                             "https://id.example.org/keys"};

std::string name_of(const std::string& claim, OidcSettings settings = kSettings) {
  const auto name = oidc_name(settings, claim);
  return name ? *name : "-";
}

TEST(OidcName, IsOfThisMachineOrOfTheDomain) {
  EXPECT_EQ(name_of("alice"), "alice");
  EXPECT_EQ(name_of("alice@example.org"), "alice");
  for (const char* refused : {"", "alice@evil.example", "alice@", "alice@example.org@evil.example",
                              "@example.org", "../alice", "-x", "a b", "alice@example.org.evil.example"})
    EXPECT_EQ(name_of(refused), "-") << refused;
  OidcSettings none = kSettings, mail = kSettings;
  none.domain.clear();
  mail.claim = "email";
  EXPECT_EQ(name_of("alice@example.org", none), "-");
  EXPECT_EQ(name_of("alice", mail), "-");
  EXPECT_EQ(name_of("alice@example.org", mail), "alice");
}

// What a header of the reply says of it, from behind `mark` on to the next of `ends`.
std::string part_of(const std::string& text, const std::string& mark, const char* ends) {
  const size_t at = text.find(mark);
  if (at == std::string::npos) return {};
  const size_t begin = at + mark.size();
  return text.substr(begin, text.find_first_of(ends, begin) - begin);
}

struct Sent {
  std::string address, state, cookie;
};
Sent send(OidcVisits& visits, int64_t now = 100) {
  const Reply reply = visits.begin(kProvider, "https://portal.example.org", now);
  Sent sent;
  sent.address = reply.headers.at(0).second;
  sent.state = part_of(sent.address, "&state=", "&");
  sent.cookie = reply.headers.at(1).second.substr(0, reply.headers.at(1).second.find(';'));
  return sent;
}
Result<OidcAnswer> come_back(OidcVisits& visits, const std::string& state, const std::string& cookie,
                             const std::string& code, int64_t now = 200, const std::string& issuer = "") {
  Request request;
  request.headers.emplace_back("cookie", cookie);
  Values values;
  values.set("state", state);
  values.set("code", code);
  if (!issuer.empty()) values.set("iss", issuer);
  return visits.take(request, values, now);
}

TEST(OidcVisits, ABrowserComesBackOnceWithWhatItWasSentWith) {
  OidcVisits visits(kSettings, true);
  const Sent sent = send(visits);
  EXPECT_TRUE(
      sent.address.starts_with("https://id.example.org/auth?x=1&response_type=code&client_id=min%20ke&"));
  EXPECT_EQ(part_of(sent.address, "redirect_uri=", "&"),
            "https%3A%2F%2Fportal.example.org%2Flogin%2Fcallback");
  EXPECT_TRUE(sent.cookie.starts_with("__Host-minke-oidc="));
  const auto answer = come_back(visits, sent.state, sent.cookie, "code");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->nonce, part_of(sent.address, "&nonce=", "&"));
  EXPECT_GE(answer->verifier.size(), 43u);
  EXPECT_EQ(sent.address.find(answer->verifier), std::string::npos);
  EXPECT_FALSE(come_back(visits, sent.state, sent.cookie, "code"));
}

TEST(OidcVisits, NobodyElseDoes) {
  OidcVisits visits(kSettings, true);
  EXPECT_FALSE(come_back(visits, "", "", "code"));
  for (const auto& [cookie, code, now, issuer] :
       {std::tuple("", "code", 200, ""), std::tuple("__Host-minke-oidc=x", "code", 200, ""),
        std::tuple("own", "", 200, ""), std::tuple("own", "code", 800, ""),
        std::tuple("own", "code", 200, "https://evil.example")}) {
    const Sent sent = send(visits);
    EXPECT_FALSE(come_back(visits, sent.state, std::string_view(cookie) == "own" ? sent.cookie : cookie, code,
                           now, issuer));
  }
  const Sent one = send(visits), other = send(visits);
  EXPECT_FALSE(come_back(visits, one.state, other.cookie, "code"));
}

}  // namespace
}  // namespace minke::portal
