#include "submit/foreign_directives.h"

#include <algorithm>
#include <span>

#include "submit/script.h"
#include "text/number.h"

namespace minke::submit {
namespace {

constexpr int kFailureStatus = 1;
constexpr uint64_t kMaxNumber = 2147483647;

struct PlainLetter;

class Reader {
 public:
  Status pbs(char letter, std::string_view value);
  Status bsub(char letter, std::string_view value);
  void finish() {
    if (ppn_ && !tasks_known_)
      add("ntasks", std::to_string(std::min(*ppn_ * nodes_.value_or(1), kMaxNumber)));
  }
  ForeignOptions take() { return std::move(out_); }

 private:
  void add(std::string_view option, std::string_view value) {
    out_.arguments.push_back(std::string("--").append(option).append("=").append(value));
  }
  void add(std::string_view option) { out_.arguments.push_back(std::string("--").append(option)); }
  bool add_plain(std::span<const PlainLetter> letters, char letter, std::string_view value);
  void resources(std::string_view list);
  void resource(std::string_view name, std::string_view value);
  void nodes(std::string_view list);
  void select(std::string_view list);

  ForeignOptions out_;
  std::optional<uint64_t> nodes_, ppn_;
  bool tasks_known_ = false;
};

std::pair<std::string_view, std::string_view> halves(std::string_view text) {
  size_t equals = text.find('=');
  if (equals == std::string_view::npos) return {text, {}};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

// "2gb" is Slurm's "2G"; a bare number is MiB for both.
std::string size_text(std::string_view size) {
  std::string out = text::upper_case(size);
  if (out.size() > 2 && out.ends_with('B') &&
      text::parse_unsigned(out.substr(0, out.size() - 2), ~uint64_t{0}))
    out.pop_back();
  return out;
}

// 2, 2:ppn=4, 1:ppn=2:gpus=1, n1+n2:ppn=2
void Reader::nodes(std::string_view list) {
  std::string hosts;
  uint64_t count = 0;
  for (std::string_view chunk : text::split(list, '+')) {
    for (std::string_view word : text::split(chunk, ':')) {
      auto [name, value] = halves(word);
      if (auto number = text::parse_unsigned(word, kMaxNumber)) {
        count += *number;
      } else if (name == "ppn") {
        ppn_ = text::parse_unsigned(value, kMaxNumber);
      } else if (name == "gpus") {
        add("gpus-per-node", value);
      } else if (!word.empty() && value.empty()) {
        if (!hosts.empty()) hosts += ',';
        hosts += word;
      }
    }
  }
  if (count != 0) {
    nodes_ = std::min(count, kMaxNumber);
    add("nodes", std::to_string(*nodes_));
  }
  if (!hosts.empty()) add("nodelist", hosts);
}

// 2:ncpus=4:mpiprocs=4:mem=8gb
void Reader::select(std::string_view list) {
  for (std::string_view word : text::split(list.substr(0, list.find('+')), ':')) {
    auto [name, value] = halves(word);
    if (auto number = text::parse_unsigned(word, kMaxNumber); number && *number != 0) {
      nodes_ = *number;
      add("nodes", word);
    } else if (name == "ncpus") {
      add("mincpus", value);
    } else if (name == "mpiprocs") {
      add("ntasks-per-node", value);
    } else if (name == "mem") {
      add("mem", size_text(value));
    }
  }
}

void Reader::resource(std::string_view name, std::string_view value) {
  if (value.empty()) return;
  if (name == "walltime" || name == "cput" || name == "pcput") {
    add("time", value);
  } else if (name == "nodes") {
    nodes(value);
  } else if (name == "select") {
    select(value);
  } else if (name == "mem") {
    add("mem", size_text(value));
  } else if (name == "file") {
    add("tmp", size_text(value));
  } else if (name == "ncpus") {
    add("mincpus", value);
  } else if (name == "nice") {
    add("nice", value);
  } else if (name == "mppnodes") {
    add("nodelist", value);
  } else if (name == "naccelerators") {
    add("gres", "gpu:" + std::string(value));
  } else if (name == "accelerator" && text::equals_ignoring_case(value, "true")) {
    add("gres", "gpu:1");
  } else if (name == "proc") {
    add("constraint", value);
  }
  // Slurm ignores the others (vmem, pmem, place, software …).
}

void Reader::resources(std::string_view list) {
  for (std::string_view item : text::split(list, ',')) {
    auto [name, value] = halves(text::trim(item));
    resource(name, value);
  }
}

// Letters that correspond to one option of sbatch, with the same value.
struct PlainLetter {
  char letter;
  std::string_view option;
};
constexpr PlainLetter kPbsLetters[] = {
    {'a', "begin"}, {'A', "account"},   {'e', "error"},     {'J', "array"},    {'t', "array"},
    {'d', "chdir"}, {'w', "chdir"},     {'M', "mail-user"}, {'N', "job-name"}, {'o', "output"},
    {'p', "nice"},  {'q', "partition"}, {'v', "export"}};
constexpr PlainLetter kBsubLetters[] = {{'c', "chdir"},    {'e', "error"},  {'J', "job-name"},
                                        {'m', "nodelist"}, {'o', "output"}, {'q', "partition"},
                                        {'W', "time"}};

bool Reader::add_plain(std::span<const PlainLetter> letters, char letter, std::string_view value) {
  const auto found = std::ranges::find(letters, letter, &PlainLetter::letter);
  if (found == letters.end()) return false;
  add(found->option, value);
  return true;
}

Status Reader::pbs(char letter, std::string_view value) {
  if (add_plain(kPbsLetters, letter, value)) return {};
  switch (letter) {
    case 'h':
      add("hold");
      break;
    case 'l':
      resources(value);
      break;
    case 'm': {
      std::string types;
      for (auto [mark, type] : {std::pair{'b', "BEGIN,"}, {'e', "END,"}, {'a', "FAIL,"}, {'n', "NONE,"}})
        if (value.find(mark) != std::string_view::npos) types += type;
      add("mail-type", std::string_view(types).substr(0, types.size() - (types.empty() ? 0 : 1)));
      break;
    }
    case 'r':  // Slurm has no use for it
      break;
    case 'W':
      if (value.starts_with("depend=")) add("dependency", value.substr(7));
      if (value.starts_with("umask=")) out_.umask = value.substr(6);
      break;
    default:  // -c -C -I -j -k -S -u -V -z: Slurm ignores them
      break;
  }
  return {};
}

Status Reader::bsub(char letter, std::string_view value) {
  if (add_plain(kBsubLetters, letter, value)) return {};
  switch (letter) {
    case 'M': {  // KiB for each processor
      auto kib = text::parse_unsigned(value, ~uint64_t{0} - 1024);
      add("mem-per-cpu", kib ? std::to_string((*kib + 1023) / 1024) : size_text(value));
      break;
    }
    case 'n':  // "least,most"
      add("ntasks", value.substr(value.rfind(',') + 1));
      tasks_known_ = true;
      break;
    default:  // -x
      add("exclusive");
      break;
  }
  return {};
}

struct Dialect {
  std::string_view magic;
  std::string_view letters;  // as for getopt(3)
  Status (Reader::*read)(char, std::string_view);
};
constexpr Dialect kDialects[] = {
    {"#PBS", "a:A:c:C:d:e:hIj:J:k:l:m:M:N:o:p:q:r:S:t:u:v:Vw:W:z", &Reader::pbs},
    {"#BSUB", "c:e:J:m:M:n:o:q:W:x", &Reader::bsub},
};

// What getopt(3) says, and Slurm behind it.
tl::unexpected<Error> unknown(std::string problem) {
  return failure(std::move(problem) + "\nUnrecognized command line parameter ?", kFailureStatus);
}

Status read_line(const Dialect& dialect, const std::vector<std::string>& words, Reader& reader) {
  for (size_t i = 0; i < words.size(); ++i) {
    std::string_view word = words[i];
    if (word.size() < 2 || word[0] != '-') return failure("Invalid argument: " + words[i], kFailureStatus);
    if (word == "-cwd") word = "-c";
    for (size_t at = 1; at < word.size(); ++at) {
      size_t known = word[at] == ':' ? std::string_view::npos : dialect.letters.find(word[at]);
      if (known == std::string_view::npos) {
        return unknown(word[at] == '-' && at == 1 ? "unrecognized option '" + words[i] + "'"
                                                  : std::string("invalid option -- '") + word[at] + "'");
      }
      bool takes_value = known + 1 < dialect.letters.size() && dialect.letters[known + 1] == ':';
      std::string_view value;
      if (takes_value) {
        value = word.substr(at + 1);
        if (value.empty() && i + 1 == words.size())
          return unknown(std::string("option requires an argument -- '") + word[at] + "'");
        if (value.empty()) value = words[++i];
      }
      if (Status read = (reader.*dialect.read)(word[at], value); !read) return read;
      if (takes_value) break;
    }
  }
  return {};
}

}  // namespace

Result<ForeignOptions> read_foreign_directives(std::string_view script) {
  Reader reader;
  for (const Dialect& dialect : kDialects) {
    for (std::string_view line : text::split(script, '\n')) {
      if (!line.starts_with(dialect.magic)) continue;
      auto words = split_directive(line.substr(dialect.magic.size()));
      if (!words) return failure(words.error());
      if (Status read = read_line(dialect, *words, reader); !read) return failure(read.error());
    }
  }
  reader.finish();
  return reader.take();
}

}  // namespace minke::submit
