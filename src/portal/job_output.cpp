// What a job has written: a piece of its output file, from a place on or from its end.
//
// The file is opened with this process's rights, which are those of who asks. A portal that root runs for
// himself opens root's files alone: no path of a user's.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "model/job_record.pb.h"
#include "os/fd.h"
#include "os/read_at.h"
#include "portal/desk.h"
#include "portal/found_job.h"
#include "portal/job_answers.h"
#include "portal/job_json.h"
#include "text/printable.h"

namespace minke::portal {
namespace {

constexpr int64_t kPiece = 256 * 1024;

// How many bytes at the end begin a character of UTF-8 that goes on behind them.
size_t begun_character(const std::string& text) {
  for (size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if (byte < 0x80) return 0;
    if (byte < 0xc0) continue;
    const size_t length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    return length > back ? back : 0;
  }
  return 0;
}

}  // namespace

Result<Reply> show_output(Call& call) {
  const auto found = find_job(call, false);
  if (!found) return failure(found.error());
  const model::JobRecord& job = found->accounted.job();
  const bool error_stream = call.text("stream") == "stderr";
  const std::string& path = error_stream ? job.stderr_path() : job.stdout_path();
  Json value = {{"path", text::printable(path)},
                {"same_file", job.stdout_path() == job.stderr_path()},
                {"size", 0},
                {"offset", 0},
                {"next", 0},
                {"text", ""},
                {"problem", ""}};
  const auto cannot = [&](const std::string& why) {
    value["problem"] = why;
    return json_reply(value);
  };
  if (job.start_time() == 0) return cannot("it has not written anything yet");
  if (path.empty()) return cannot("this cluster does not tell where the job writes");
  if (call.desk.uid() == 0 && job.uid() != 0) return cannot("root's portal opens no files of users");
  const os::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0)
    return cannot(failure_from_errno(text::printable(path), errno).value().message);
  if (!S_ISREG(status.st_mode)) return cannot("it is no regular file");
  const int64_t size = status.st_size;
  int64_t offset =
      call.has("offset") ? call.number("offset") : std::max<int64_t>(0, size - call.number("tail", kPiece));
  offset = std::min(offset, size);  // it was cut meanwhile
  std::string text(static_cast<size_t>(std::min(kPiece, size - offset)), '\0');
  if (!os::read_at(file.get(), text.data(), text.size(), static_cast<uint64_t>(offset)))
    return cannot("it cannot be read now");
  if (offset + static_cast<int64_t>(text.size()) < size || call.has("offset"))
    text.resize(text.size() - begun_character(text));
  value["size"] = size;
  value["offset"] = offset;
  value["next"] = offset + static_cast<int64_t>(text.size());
  value["text"] = std::move(text);
  return json_reply(value);
}

}  // namespace minke::portal
