#include "grow/carry/message_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>

#include "os/fd.h"

namespace minke::grow {
namespace {

constexpr uint32_t kLongestMessage = 1U << 30;

}  // namespace

Result<MessageFile> MessageFile::create(const std::string& path) {
  os::UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return failure_from_errno(path, errno);
  MessageFile file;
  file.path_ = path;
  file.file_.reset(::fdopen(fd.get(), "wb"));
  if (!file.file_) return failure_from_errno(path, errno);
  (void)fd.release();
  return file;
}

Status MessageFile::add(const std::string& message) {
  std::array<char, 4> length{};
  for (size_t i = 0; i < length.size(); ++i) length[i] = static_cast<char>(message.size() >> (8 * i));
  if (message.size() > kLongestMessage ||
      std::fwrite(length.data(), 1, length.size(), file_.get()) != length.size() ||
      std::fwrite(message.data(), 1, message.size(), file_.get()) != message.size())
    return failure_from_errno(path_, errno == 0 ? EFBIG : errno);
  return {};
}

Status MessageFile::finish() {
  if (std::fflush(file_.get()) != 0 || ::fsync(::fileno(file_.get())) != 0)
    return failure_from_errno(path_, errno);
  file_.reset();
  return {};
}

Status read_messages(const std::string& path, const std::function<Status(const std::string& message)>& take) {
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "rbe"));
  if (!file) return failure_from_errno(path, errno);
  std::string message;
  for (;;) {
    std::array<unsigned char, 4> bytes{};
    const size_t got = std::fread(bytes.data(), 1, bytes.size(), file.get());
    if (got == 0 && std::ferror(file.get()) == 0) return {};
    uint32_t length = 0;
    for (size_t i = bytes.size(); i-- > 0;) length = length << 8 | bytes[i];
    if (got != bytes.size() || length > kLongestMessage)
      return failure(path + " is damaged: take the snapshot again");
    message.resize(length);
    if (std::fread(message.data(), 1, length, file.get()) != length)
      return failure(path + " is damaged: take the snapshot again");
    if (const Status taken = take(message); !taken) return taken;
  }
}

}  // namespace minke::grow
