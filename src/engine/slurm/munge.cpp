#include "engine/slurm/munge.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "os/fd.h"
#include "os/program_output.h"
#include "text/number.h"

namespace minke::engine::slurm {
namespace {

constexpr std::chrono::seconds kPatience{10};
constexpr size_t kMostBytes = size_t{2} << 20;

std::string program(const std::string& name) {
  for (const char* directory : {"/usr/bin/", "/usr/local/bin/", "/opt/munge/bin/"}) {
    if (::access((directory + name).c_str(), X_OK) == 0) return directory + name;
  }
  return {};
}

Result<os::UniqueFd> file_of(const std::string& text) {
  os::UniqueFd file(::memfd_create("minke-munge", MFD_CLOEXEC));
  if (!file) return failure_from_errno("memfd_create", errno);
  for (size_t written = 0; written < text.size();) {
    const ssize_t done = ::write(file.get(), text.data() + written, text.size() - written);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return failure_from_errno("memfd", errno);
    written += static_cast<size_t>(done);
  }
  if (::lseek(file.get(), 0, SEEK_SET) != 0) return failure_from_errno("memfd", errno);
  return file;
}

}  // namespace

Result<std::string> Munge::run(const std::string& name, std::vector<std::string> words,
                               const std::string& input) const {
  std::string path = program(name);
  if (path.empty()) return failure("munge is not installed here: there is no " + name, ENOENT);
  if (!socket_.empty()) words.insert(words.begin(), "--socket=" + socket_);
  words.insert(words.begin(), std::move(path));
  const auto file = file_of(input);
  if (!file) return failure(file.error());
  auto output = os::ProgramOutput::start(
      words,
      {.timeout = kPatience, .most_bytes = kMostBytes, .environment = {"LC_ALL=C"}, .input = file->get()});
  if (!output) return failure(output.error());
  std::string all;
  char buffer[size_t{64} << 10];
  for (;;) {
    const auto got = output->read(buffer, sizeof buffer);
    if (!got) return failure(got.error());
    if (*got == 0) break;
    all.append(buffer, *got);
  }
  const auto ended = output->finish();
  if (!ended) return failure(ended.error());
  if (ended->exit_code != 0)
    return failure("munge: " + std::string(text::trim(ended->complaint)).substr(0, 200), EACCES);
  return all;
}

Result<std::string> Munge::seal(const std::string& text, std::optional<uint32_t> reader) const {
  std::vector<std::string> words;
  if (reader) words.push_back("--restrict-uid=" + std::to_string(*reader));
  auto sealed = run("munge", std::move(words), text);
  if (!sealed) return sealed;
  return std::string(text::trim(*sealed));
}

Result<Munge::Opened> Munge::open(const std::string& credential) const {
  const auto told = run("unmunge", {"--numeric"}, credential);
  if (!told) return failure(told.error());
  // Lines of "NAME: value", an empty one, and the text.
  const size_t end = told->find("\n\n");
  if (end == std::string::npos) return failure("unmunge says nothing of the credential", EPROTO);
  Opened opened;
  opened.text = told->substr(end + 2);
  bool has_uid = false;
  for (const std::string_view line : text::split(std::string_view(*told).substr(0, end), '\n')) {
    if (!line.starts_with("UID:")) continue;
    const auto uid = text::parse_unsigned(text::trim(line.substr(4)), 0xfffffffe);
    if (!uid) break;
    opened.uid = static_cast<uint32_t>(*uid);
    has_uid = true;
  }
  if (!has_uid) return failure("unmunge does not say whose the credential is", EPROTO);
  return opened;
}

}  // namespace minke::engine::slurm
