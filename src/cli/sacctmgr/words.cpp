#include "cli/sacctmgr/words.h"

#include <algorithm>

#include "text/number.h"

namespace minke::cli {
namespace {

// Full names, and how many letters are enough. The first match counts.
struct Name {
  std::string_view name;
  size_t shortest;
  std::string_view meaning = {};  // empty: the name itself
};
constexpr Name kNames[] = {
    {"accounts", 3, "account"},
    {"adminlevel", 2},
    {"clusters", 3, "cluster"},
    {"coordinators", 2, "coordinator"},
    {"defaultaccount", 8},
    {"defaultqos", 8},
    {"defaultwckey", 8},
    {"description", 3},
    {"fairshare", 1},
    {"file", 4},
    {"flags", 2},
    {"format", 2},
    {"gracetime", 3},
    {"grptresrunmins", 8},
    {"grpcpurunmins", 7},
    {"grptresmins", 8},
    {"grpcpumins", 8},
    {"grptres", 7},
    {"grpcpus", 6},
    {"grpjobsaccrue", 8},
    {"grpjobs", 4},
    {"grpmemory", 4},
    {"grpnodes", 4},
    {"grpsubmitjobs", 4},
    {"grpwall", 4},
    {"ids", 2, "id"},
    {"maxtresminsperjob", 8, "maxtresmins"},
    {"maxcpuminsperjob", 8, "maxcpumins"},
    {"maxcpusperuser", 11, "maxcpuspu"},
    {"maxcpusperjob", 7, "maxcpus"},
    {"maxcpuspu", 8},
    {"maxcpus", 7},
    {"maxjobsaccruepa", 15},
    {"maxjobsaccruepu", 15},
    {"maxjobsaccrueperaccount", 17, "maxjobsaccruepa"},
    {"maxjobsaccrueperuser", 17, "maxjobsaccruepu"},
    {"maxjobsaccrue", 8},
    {"maxjobsperaccount", 11, "maxjobspa"},
    {"maxjobspa", 9},
    {"maxjobsperuser", 9, "maxjobspu"},
    {"maxjobspu", 9},
    {"maxjobs", 4},
    {"maxnodesperuser", 12, "maxnodespu"},
    {"maxnodesperjob", 4, "maxnodes"},
    {"maxsubmitjobsperaccount", 17, "maxsubmitpa"},
    {"maxsubmitpa", 11},
    {"maxsubmitjobspa", 15, "maxsubmitpa"},
    {"maxsubmitjobsperuser", 15, "maxsubmitpu"},
    {"maxsubmitpu", 11},
    {"maxsubmitjobspu", 15, "maxsubmitpu"},
    {"maxsubmitjobs", 4},
    {"maxtresperaccount", 11, "maxtrespa"},
    {"maxtrespa", 9},
    {"maxtrespernode", 11},
    {"maxtresperuser", 11, "maxtrespu"},
    {"maxtrespu", 9},
    {"maxtresperjob", 7, "maxtres"},
    {"maxwalldurationperjob", 4, "maxwall"},
    {"mintresperjob", 7, "mintres"},
    {"mincpusperjob", 6, "mincpus"},
    {"minpriothreshold", 3},
    {"limitfactor", 2},
    {"names", 1, "name"},
    {"newname", 3},
    {"organization", 1},
    {"parent", 4},
    {"partitions", 4, "partition"},
    {"preemptmode", 8},
    {"preemptexempttime", 8},
    {"preempt", 3},
    {"priority", 3},
    {"qoslevel", 1, "qos"},
    {"qos", 3},
    {"rawusage", 2},
    {"shares", 1, "fairshare"},
    {"usagefactor", 6},
    {"usagethreshold", 6},
    {"users", 1, "user"},
    {"where", 5},
    {"comment", 3},
    {"coreyears", 5},
    {"rguyears", 4},
    {"states", 4, "state"},
    {"start", 3},
    {"end", 3},
    {"derivedexitcode", 2},
    {"derivedexitstring", 12},
    {"jobs", 1, "job"},
    {"jobid", 4, "job"},
    {"admincomment", 6},
    {"systemcomment", 2},
    {"newwckey", 5},
    {"extra", 5},
    {"classification", 3},
    {"federations", 3, "federation"},
    {"fedstate", 3},
    {"features", 2},
    {"servertype", 7},
    {"server", 2},
    {"count", 3},
    {"percentallowed", 1},
    {"resources", 4, "resource"},
    {"type", 2},
    {"wckeys", 2, "wckeys"},
    {"cluster", 1},
};

std::string full_name(std::string_view given) {
  const std::string name = text::lower_case(given);
  for (const Name& known : kNames) {
    if (known.name == name) return std::string(known.meaning.empty() ? known.name : known.meaning);
  }
  for (const Name& known : kNames) {
    if (name.size() >= known.shortest && known.name.starts_with(name))
      return std::string(known.meaning.empty() ? known.name : known.meaning);
  }
  return name;
}

Word word_of(std::string_view text) {
  Word word;
  word.text = text;
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    word.value = text;
    return word;
  }
  size_t end = equals;
  if (end > 0 && (text[end - 1] == '+' || text[end - 1] == '-')) word.sign = text[--end];
  word.name = full_name(text.substr(0, end));
  std::string_view value = text.substr(equals + 1);
  if (value.size() >= 2 && (value.front() == '\'' || value.front() == '"') && value.back() == value.front())
    value = value.substr(1, value.size() - 2);
  word.value = value;
  return word;
}

}  // namespace

Words split_words(std::span<char* const> words) {
  Words split;
  std::vector<Word>* into = &split.where;
  for (const std::string_view text : words) {
    if (text::equals_ignoring_case(text, "where")) {
      into = &split.where;
    } else if (text::equals_ignoring_case(text, "set")) {
      into = &split.set;
    } else {
      into->push_back(word_of(text));
    }
  }
  return split;
}

std::vector<std::string> lower_list(std::string_view value) {
  std::vector<std::string> list;
  for (const std::string_view item : text::split(value, ',')) {
    if (!text::trim(item).empty()) list.push_back(text::lower_case(text::trim(item)));
  }
  return list;
}

std::vector<std::string> list_of(std::span<const Word> words, std::string_view name) {
  std::vector<std::string> all;
  for (const Word& word : words) {
    if (word.name != name) continue;
    for (std::string& item : lower_list(word.value)) all.push_back(std::move(item));
  }
  return all;
}

std::vector<std::string> names_in(std::span<const Word> words, std::string_view entity) {
  std::vector<std::string> names;
  for (const Word& word : words) {
    if (!word.name.empty() && word.name != "name" && word.name != entity) continue;
    for (std::string& one : lower_list(word.value)) names.push_back(std::move(one));
  }
  return names;
}

std::string value_of(std::span<const Word> words, std::string_view name) {
  for (const Word& word : words) {
    if (word.name == name) return word.value;
  }
  return {};
}

bool is_one_of(const Word& word, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), word.name) != names.end();
}

std::string unknown_condition(const Word& word) {
  return " Unknown condition: " + word.text + "\n Use keyword 'set' to modify SLURM_PRINT_VALUE";
}

std::string unknown_option(const Word& word) {
  return " Unknown option: " + word.text + "\n Use keyword 'where' to modify condition";
}

}  // namespace minke::cli
