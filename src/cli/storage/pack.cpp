// minke pack, minke unpack: packs many files into one, verified, and unpacks them again.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <string>

#include "cli/parse_options.h"
#include "cli/progress.h"
#include "cli/storage/shown_scan.h"
#include "cli/storage/storage.h"
#include "helpers/names.h"
#include "os/fd.h"
#include "os/files.h"
#include "storage/advice.h"
#include "storage/archives.h"
#include "storage/beside.h"
#include "storage/pack_tar.h"
#include "storage/run_program.h"
#include "storage/words.h"
#include "view/output.h"

namespace minke::cli {

namespace {

struct PackChoice {
  std::string directory, to, format = "auto", shard_size = "1G";
  unsigned threads = 0;
  bool quiet = false;
};

int fail(const char* command, const Error& error) {
  if (error.code == ECANCELED) {
    view::print_error(command, "stopped; the same command goes on from here, or begins anew where it cannot");
    return 130;
  }
  view::print_error(command, storage::shown_path(error.message));
  return 1;
}

std::string base_name(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path.substr(path.rfind('/') + 1);
}

// The survey of the tree before it is packed; nothing if nobody needs it.
struct Survey {
  storage::Advice advice;
  uint64_t bytes = 0;
};

Result<Survey> survey(const PackChoice& choice) {
  // The size also determines the archive's stripes on Lustre.
  if (choice.format != "auto" && choice.format != "squashfs" && !storage::is_installed("lfs"))
    return Survey{};
  const auto usage = scan_and_show({choice.directory}, {.threads = choice.threads, .suffixes = true});
  if (!usage) return failure(usage.error());
  const bool squashes = storage::is_installed("mksquashfs") && storage::is_installed("unsquashfs");
  return Survey{storage::advise(*usage, squashes), usage->total.bytes};
}

std::string format_for(storage::Form form) {
  return form == storage::Form::kWebDataset ? "webdataset"
         : form == storage::Form::kSquashfs ? "squashfs"
                                            : "tar";
}

std::string default_name(const PackChoice& choice) {
  return base_name(choice.directory) + (choice.format == "webdataset" ? "-shards"
                                        : choice.format == "squashfs" ? ".sqfs"
                                                                      : "." + choice.format);
}

// An archive within its own source would have to contain itself.
bool lies_in_its_own_tree(const PackChoice& choice) {
  const size_t slash = choice.to.rfind('/');
  const std::string parent =
      helpers::following(slash == std::string::npos ? "." : choice.to.substr(0, slash + 1));
  const os::UniqueFd place(::open(parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct statx packed_tree {};
  return place && ::statx(AT_FDCWD, choice.directory.c_str(), 0, STATX_INO, &packed_tree) == 0 &&
         storage::lies_in(place.get(), packed_tree);
}

Status check_target(const PackChoice& choice) {
  const bool shards = choice.format == "webdataset";
  if (shards && storage::parse_bytes(choice.shard_size) == 0)
    return failure("invalid --shard-size: " + choice.shard_size, EINVAL);
  if (base_name(choice.to).empty()) return failure(choice.to + ": a name is needed", EINVAL);
  if (!shards && choice.to.back() == '/') return failure(choice.to + ": an archive is a file", EINVAL);
  if (lies_in_its_own_tree(choice))
    return failure(choice.to + ": it would lie in the directory that is packed; name another place with --to",
                   EINVAL);
  return {};
}

Status write_archive(const PackChoice& choice, const Survey& known, const std::atomic<bool>& stop,
                     storage::PackProgress& progress) {
  const ProgressText text(storage::bytes_text);
  const ProgressLine line([&] {
    if (progress.bytes == 0) return std::string("packing …");
    const std::string packed =
        storage::number_text(progress.files) + " files, " + text.of(progress.bytes, known.bytes);
    return progress.verified == 0 ? packed
                                  : packed + ", " + storage::bytes_text(progress.verified) + " verified";
  });
  if (choice.format == "squashfs")
    return storage::pack_squashfs(choice.directory, choice.to, known.advice.compress, progress.failures,
                                  &stop);
  const bool shards = choice.format == "webdataset";
  return storage::pack_tar(choice.directory, choice.to,
                           {.threads = choice.threads,
                            .shard_bytes = shards ? storage::parse_bytes(choice.shard_size) : 0,
                            .compress = choice.format == "tar.zst",
                            .expected_bytes = known.bytes,
                            .stop = &stop},
                           progress);
}

int pack(PackChoice choice) {
  const char* const name = "minke pack";
  const auto& stop = stop_on_signals();
  choice.directory = helpers::following(choice.directory);
  const auto known = survey(choice);
  if (!known) return fail(name, known.error());
  if (choice.format == "auto") choice.format = format_for(known->advice.form);
  if (choice.to.empty()) choice.to = default_name(choice);
  if (const Status fine = check_target(choice); !fine) return fail(name, fine.error());
  storage::PackProgress progress;
  const Status packed = write_archive(choice, *known, stop, progress);
  const int code = helpers::report_errors(name, progress.failures.kept(), progress.failures.count());
  if (!packed) return fail(name, packed.error());
  struct stat status {};
  if (!choice.quiet && ::stat(choice.to.c_str(), &status) == 0)
    view::write_out(fmt::format("{}: {}, verified\n", storage::shown_path(choice.to),
                                choice.format == "webdataset"
                                    ? storage::counted(progress.files, "file")
                                    : storage::bytes_text(static_cast<uint64_t>(status.st_size))));
  return code;
}

}  // namespace

int pack_main(int argc, char** argv) {
  CLI::App app{"Makes one large file, or a few, of a directory with many small ones, and verifies it.",
               "minke pack"};
  PackChoice choice;
  app.add_option("directory", choice.directory, "what to pack")->required();
  app.add_option("--to", choice.to, "the archive; default: here, by the directory's name");
  app.add_option(
         "--format", choice.format,
         "squashfs (mounted or unpacked in jobs), tar (with an index for random access), tar.zst (the same, "
         "compressed), webdataset (tar shards); auto: by what the directory is")
      ->check(CLI::IsMember({"auto", "squashfs", "tar", "tar.zst", "webdataset"}));
  app.add_option("--shard-size", choice.shard_size, "of WebDataset's shards, about (default: 1G)");
  app.add_option("--threads", choice.threads, "default: by the machine")->check(CLI::Range(1, 256));
  app.add_flag("-q,--quiet", choice.quiet, "say nothing when all went well");
  if (const auto over = parse_options(app, argc, argv)) return *over;
  os::raise_descriptor_limit();
  return pack(choice);
}

int unpack_main(int argc, char** argv) {
  CLI::App app{
      "Unpacks an archive (tar, compressed or not; zip; squashfs) into a directory that appears in one step.",
      "minke unpack"};
  std::string archive, to;
  app.add_option("archive", archive)->required();
  app.add_option("--to", to, "the directory; default: here, by the archive's name");
  if (const auto over = parse_options(app, argc, argv)) return *over;
  os::raise_descriptor_limit();
  if (to.empty()) to = storage::without_suffix(base_name(archive));
  Status done;
  {
    const ProgressLine line([] { return std::string("unpacking …"); });
    done = storage::unpack(archive, to, &stop_on_signals());
  }
  return done ? 0 : fail("minke unpack", done.error());
}

}  // namespace minke::cli
