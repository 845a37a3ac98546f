#include "portal/user_token.h"

#include <fcntl.h>
#include <nettle/hmac.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "os/fd.h"
#include "os/files.h"
#include "os/random_key.h"
#include "portal/base64_url.h"
#include "portal/sessions.h"

namespace minke::portal {
namespace {

constexpr size_t kKeyBytes = 32, kMostTokenBytes = 4096;

std::string signature(std::string_view key, std::string_view text) {
  hmac_sha256_ctx context;
  hmac_sha256_set_key(&context, key.size(), reinterpret_cast<const uint8_t*>(key.data()));
  hmac_sha256_update(&context, text.size(), reinterpret_cast<const uint8_t*>(text.data()));
  std::string digest(SHA256_DIGEST_SIZE, '\0');
  hmac_sha256_digest(&context, digest.size(), reinterpret_cast<uint8_t*>(digest.data()));
  return digest;
}

Result<std::string> key_directory() {
  if (const char* config = std::getenv("XDG_CONFIG_HOME"); config != nullptr && config[0] == '/')
    return std::string(config) + "/minke";
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/')
    return std::string(home) + "/.config/minke";
  return failure("there is no home for a key: HOME is not set", ENOENT);
}

}  // namespace

Result<std::string> token_key() {
  const auto directory = key_directory();
  if (!directory) return failure(directory.error());
  const std::string path = *directory + "/token.key";
  for (int tries = 0; tries < 2; ++tries) {
    const os::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (file) {
      struct stat status {};
      if (::fstat(file.get(), &status) != 0 || status.st_uid != ::geteuid() || (status.st_mode & 077) != 0)
        return failure(path + " must be yours, and readable for nobody else: remove it, or chmod 600",
                       EACCES);
      std::string key(kKeyBytes, '\0');
      if (::read(file.get(), key.data(), key.size()) != static_cast<ssize_t>(kKeyBytes))
        return failure(path + " is damaged: remove it, and tokens are made with a new key", EINVAL);
      return key;
    }
    if (errno != ENOENT) return failure_from_errno(path, errno);
    if (const Status made = os::make_directories(*directory, 0700); !made) return failure(made.error());
    const Status kept = os::replace_file(path, os::random_key() + os::random_key(), 0600);
    if (!kept) return failure(kept.error());
  }
  return failure(path + " vanishes as it is made", ENOENT);
}

std::string make_token(std::string_view key, std::string_view user, int64_t now, int64_t seconds) {
  const nlohmann::json claims = {{"exp", now + seconds}, {"iat", now}, {"sun", user}};
  const std::string text = base64_url(R"({"alg":"HS256","typ":"JWT"})") + "." +
                           base64_url(claims.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  return text + "." + base64_url(signature(key, text));
}

bool is_token(std::string_view key, std::string_view token, std::string_view user, int64_t now) {
  const size_t first = token.find('.'), last = token.rfind('.');
  if (token.size() > kMostTokenBytes || first == std::string_view::npos || first == last) return false;
  const std::string_view text = token.substr(0, last);
  if (!are_equal(from_base64_url(token.substr(last + 1)), signature(key, text))) return false;
  // Signed by us: what it says can be read. Only our own kind of signature counts, whatever its head says.
  const auto claims = nlohmann::json::parse(from_base64_url(text.substr(first + 1)), nullptr, false);
  if (!claims.is_object() || !claims.contains("sun") || !claims.contains("exp")) return false;
  const auto& name = claims["sun"];
  const auto& expires = claims["exp"];
  return name.is_string() && name.get_ref<const std::string&>() == user && expires.is_number_integer() &&
         expires.get<int64_t>() > now;
}

}  // namespace minke::portal
