// Tokens that were made with keys of these tests, which nobody keeps; times are seconds since the epoch.
#include "portal/id_token.h"

#include <gtest/gtest.h>

namespace minke::portal {
namespace {

constexpr char kKeys[] =
    R"({"keys":[{"kty":"RSA","kid":"r","use":"sig","n":"oL4GmVKWDgCI4T0xi6kF4hNCJ4uG7g-kCe8rwOxTX_uHCGZireI)"
    R"(sgFaSG-zNzwyZ3M3NoJvK0WDgIPVZ7LyS_pPjzFmiIeJfTLT9mFYw0os-Nq-6DgI0ZLtbKJPjXE-_yEYBi6U4wwDt-4wzmWasqBH)"
    R"(j6OdJw6MnHAs6fXENzU_Vs9TD9NHJz-7eR--sfOrxzulzkNl1bfTF1EuFf0HuS3JWGn8P_s9oSqVw3RYmuwwGyTV8HJeUoctPmZf)"
    R"(RP355LroeMQvluxHASiiSWbSanzoPUICQYpJCxyTMmizIxO37JgLetcB4H0Ov10tPvxpUcBQawiPkwDfZMms_hKk5KQ","e":"AQ)"
    R"(AB"},{"kty":"EC","kid":"e","crv":"P-256","x":"-SFCRQPVe7rAeczHpLXTKUrYyx-Je6rsUUwWspdQ1FU","y":"bNPk)"
    R"(gV00vCDFbff4K6fmPJ0rQS_bNGJ1P1F9gTy8tfg"},{"kty":"RSA","kid":"s","n":"y8cBb7P5oIJXyi1D82n-gqqPMXDW4z)"
    R"(yDTbesDzaRK7zmd1C0O4Yiw1SG2S08B4EZUQjagJejayFb_hXbwAUaSbHIMCwFmi5-Zc2bh6if4nUbPKyAEJ02fV4e0uAOS9GxPl)"
    R"(Wh3qCHCJ5SnCFOt_zVfT5ENwd1JA9XPnpnUBW4YRk","e":"AQAB"}]})";
constexpr char kRs[] =
    "eyJhbGciOiJSUzI1NiIsImtpZCI6InIifQ.eyJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUub3JnIiwiYXVkIjoibWlua2UiLCJzd"
    "WIiOiI3Iiwibm9uY2UiOiJuIiwiaWF0IjoxMDAwLCJleHAiOjIwMDAsInByZWZlcnJlZF91c2VybmFtZSI6ImFsaWNlIn0.CClPs"
    "uLiju2fIZSx43bAgHyYGIWAAqvmh33H9N8EyU1NpnP-SJopQuq5pbCcawREWpdpy3CTe7oXGbiCP6t-wvDbT7GfAvci4-6wOKD0r"
    "YCrwlJiuEUzd8-7ZXuiCk3NvPBPImBukwHhzxznDhY04whk8r_xFareWGMNXasA_-IYajY_9zy4eHhHRqowVbQ2Gqc27_PZucx-B"
    "QVPEhh-FPTmTR4wiMSgJ_JFigu9paSirJi3ttYRzUfpdHqT5W8YeTNj7bawscdoWD9jdR8Av_Reo95BsLdxplDy2hpK8D-Myb5MW"
    "fTUb46ogh1_kSwJgijdqGkszCLWZ525yBKKcw";
constexpr char kEs[] =
    "eyJhbGciOiJFUzI1NiIsImtpZCI6ImUifQ.eyJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUub3JnIiwiYXVkIjoibWlua2UiLCJzd"
    "WIiOiI3Iiwibm9uY2UiOiJuIiwiaWF0IjoxMDAwLCJleHAiOjIwMDAsInByZWZlcnJlZF91c2VybmFtZSI6ImFsaWNlIn0.EN00D"
    "mveicAxZqbFv5SblIRz8IcOI47Ss5eXOoP1W6G-PWZCWmTdRI3Gu-YCl3ueAOBasyCYNNQltqYvsG7m8g";
constexpr char kSmall[] =
    "eyJhbGciOiJSUzI1NiIsImtpZCI6InMifQ.eyJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUub3JnIiwiYXVkIjoibWlua2UiLCJzd"
    "WIiOiI3Iiwibm9uY2UiOiJuIiwiaWF0IjoxMDAwLCJleHAiOjIwMDAsInByZWZlcnJlZF91c2VybmFtZSI6ImFsaWNlIn0.xspUB"
    "wfif9xyV4qZhpUk6pOqJ_flIfgPuwve6I4jmDe5yki0tjuMETmzstv4fOUG9VNVqVu8iXM1PpPr4TdbCpp5bvAQyMrOVdx5n2But"
    "lzBZCZ5_XWPDCAO4_Cm8ZURGVpv1SyQufetr7KKSWMdxyvtSuVmf9Gj7yoy-c3QPcs";
constexpr char kTwo[] =
    "eyJhbGciOiJFUzI1NiIsImtpZCI6ImUifQ.eyJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUub3JnIiwiYXVkIjpbIm1pbmtlIiwib"
    "3RoZXIiXSwic3ViIjoiNyIsIm5vbmNlIjoibiIsImlhdCI6MTAwMCwiZXhwIjoyMDAwLCJwcmVmZXJyZWRfdXNlcm5hbWUiOiJhb"
    "GljZSJ9.q7JIr3YTclyTC1hml0u7R88eiD3N18fTncm1lLxv7VGjX1EQAWKaLgWx-31uv779pgwW57-J5DH0iCR8USZr0Q";
constexpr char kTwoAzp[] =
    "eyJhbGciOiJFUzI1NiIsImtpZCI6ImUifQ.eyJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUub3JnIiwiYXVkIjpbIm1pbmtlIiwib"
    "3RoZXIiXSwic3ViIjoiNyIsIm5vbmNlIjoibiIsImlhdCI6MTAwMCwiZXhwIjoyMDAwLCJwcmVmZXJyZWRfdXNlcm5hbWUiOiJhb"
    "GljZSIsImF6cCI6Im1pbmtlIn0.VeB824bOIjhqYrmMrVe-SJEOfEm_UCOVMFWA2oVdzY6fNBCNaueR_JZC-g6EHHNo2YjAv6aNT"
    "FxI9q4D2TrVhw";
constexpr char kOtherAzp[] =
    "eyJhbGciOiJFUzI1NiIsImtpZCI6ImUifQ.eyJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUub3JnIiwiYXVkIjoibWlua2UiLCJzd"
    "WIiOiI3Iiwibm9uY2UiOiJuIiwiaWF0IjoxMDAwLCJleHAiOjIwMDAsInByZWZlcnJlZF91c2VybmFtZSI6ImFsaWNlIiwiYXpwI"
    "joib3RoZXIifQ.V9m6asUhl0r3NIyGSReU05oCQVIWmCQnMD-U5QrN1ss956k2v1jZnKXk6fzSrNVfUf2_jz3pxs87B79CN44QmA";
constexpr char kNobody[] =
    "eyJhbGciOiJFUzI1NiIsImtpZCI6ImUifQ.eyJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUub3JnIiwiYXVkIjoibWlua2UiLCJub"
    "25jZSI6Im4iLCJpYXQiOjEwMDAsImV4cCI6MjAwMCwicHJlZmVycmVkX3VzZXJuYW1lIjoiYWxpY2UifQ.0T_6PFdCiTxm95v-Ne"
    "Bv978sE0JbwnhR4qO21tBfSgUvgSaot_4ogsbVW8NuS8JZkD-sa_BugKM-z81bZh6OvA";
constexpr char kNoEnd[] =
    "eyJhbGciOiJFUzI1NiIsImtpZCI6ImUifQ.eyJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUub3JnIiwiYXVkIjoibWlua2UiLCJzd"
    "WIiOiI3Iiwibm9uY2UiOiJuIiwiaWF0IjoxMDAwLCJwcmVmZXJyZWRfdXNlcm5hbWUiOiJhbGljZSJ9.WiIlXtQQxtQPTAfFvH0P"
    "vP6n8n_BEZCX1QNQI8ULS0rTtvQpCtyKCTmIVtyuDMlK4en6XMTMdPgsYi6TtC56UA";
constexpr char kHs[] =
    "eyJhbGciOiJIUzI1NiIsImtpZCI6InIifQ.eyJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUub3JnIiwiYXVkIjoibWlua2UiLCJzd"
    "WIiOiI3Iiwibm9uY2UiOiJuIiwiaWF0IjoxMDAwLCJleHAiOjIwMDAsInByZWZlcnJlZF91c2VybmFtZSI6ImFsaWNlIn0.-GQVW"
    "b9W95mC_jFLkP_ZTqJyrzScaonYA8BLnn-FrHk";
constexpr char kNone[] =
    "eyJhbGciOiJub25lIiwia2lkIjoiciJ9.eyJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUub3JnIiwiYXVkIjoibWlua2UiLCJzdWI"
    "iOiI3Iiwibm9uY2UiOiJuIiwiaWF0IjoxMDAwLCJleHAiOjIwMDAsInByZWZlcnJlZF91c2VybmFtZSI6ImFsaWNlIn0.";

const IdTokenExpected kExpected{"https://id.example.org", "minke", "n", 1500};

nlohmann::json keys() {
  return nlohmann::json::parse(kKeys);
}
bool is_taken(std::string_view token, const IdTokenExpected& expected = kExpected) {
  return verified_claims(token, keys(), expected).has_value();
}

TEST(IdToken, OfTheProviderForThisLogInIsTaken) {
  for (const char* token : {kRs, kEs}) {
    const auto claims = verified_claims(token, keys(), kExpected);
    ASSERT_TRUE(claims) << claims.error().message;
    EXPECT_EQ(claims->at("preferred_username"), "alice");
  }
  EXPECT_TRUE(is_taken(kTwoAzp));
}

TEST(IdToken, OfAnotherOneIsNot) {
  const std::string issuer = kExpected.issuer;
  const IdTokenExpected others[] = {{"https://evil.example", "minke", "n", 1500},
                                    {issuer, "other", "n", 1500},
                                    {issuer, "minke", "m", 1500},
                                    {issuer, "minke", "", 1500},
                                    {issuer, "minke", "n", 2100},
                                    {issuer, "minke", "n", 900}};
  for (const IdTokenExpected& other : others)
    EXPECT_FALSE(is_taken(kRs, other)) << other.issuer << other.client << other.nonce << other.now;
  for (const char* token : {kTwo, kOtherAzp, kNobody, kNoEnd}) EXPECT_FALSE(is_taken(token)) << token;
}

TEST(IdToken, IsSignedByAKeyOfTheProvidersAsItShouldBe) {
  for (const char* token : {kHs, kNone, kSmall}) EXPECT_FALSE(is_taken(token)) << token;
  for (const std::string_view token : {std::string_view(kRs), std::string_view(kEs)}) {
    for (size_t at = 0; at + 2 < token.size(); at += 7) {
      if (token[at] == '.' || token[at + 1] == '.')
        continue;  // a part's last letter has bits that count for nothing
      std::string other(token);
      other[at] = other[at] == 'A' ? 'B' : 'A';
      EXPECT_FALSE(is_taken(other)) << at;
    }
    EXPECT_FALSE(is_taken(token.substr(0, token.rfind('.') + 1)));
  }
  EXPECT_FALSE(verified_claims(kRs, nlohmann::json::parse(R"({"keys":[]})"), kExpected));
  EXPECT_FALSE(verified_claims(
      kRs, nlohmann::json::parse(R"({"keys":[{"kty":"RSA","kid":"r","n":"AA","e":"AQAB"}, 7]})"), kExpected));
  EXPECT_FALSE(verified_claims(kRs, nlohmann::json::parse("[]"), kExpected));
}

TEST(IdToken, NonsenseIsNone) {
  for (const char* token : {"", ".", "..", "...", "a.b", "a.b.c", "e30.e30.", "e30.e30.e30", "W10.e30.x"})
    EXPECT_FALSE(is_taken(token)) << token;
  EXPECT_FALSE(is_taken(std::string(20000, 'a')));
}

}  // namespace
}  // namespace minke::portal
