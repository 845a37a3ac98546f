#include "cli/document_output.h"

#include <cstdlib>
#include <string>
#include <string_view>

#include "text/number.h"
#include "text/word.h"
#include "view/output.h"
#include "view/text.h"

namespace minke::cli {
namespace {

constexpr size_t kBlockSize = 1 << 20;

// How JSON is laid out: a list of words in SLURM_JSON, of which the last counts.
view::DocumentFormat json_format() {
  auto format = view::DocumentFormat::kJson;
  const char* wanted = std::getenv("SLURM_JSON");
  for (const std::string_view word : text::split(wanted == nullptr ? "" : wanted, ',')) {
    if (text::is(word, "compact")) format = view::DocumentFormat::kDenseJson;
    if (text::is(word, "pretty")) format = view::DocumentFormat::kJson;
  }
  return format;
}

}  // namespace

std::optional<int> TakeDocument::operator()(std::optional<view::DocumentFormat>& format,
                                            const options::Given& given) const {
  const std::string parser = given.value.value_or("");
  if (parser == "list") {
    std::string list;
    for (int version = view::kNewestParser; version >= view::kOldestParser; --version)
      list += view::data_parser_name(version) + "\n";
    std::fputs("Possible data_parser plugins:\n", stderr);
    view::write_out(list);
    return 0;
  }
  if (const Status known = view::check_data_parser(parser); !known)
    return view::print_error(given.command.name, known.error().message), 1;
  format = given.option.name == "json" ? json_format() : view::DocumentFormat::kYaml;
  return std::nullopt;
}

void DocumentOutput::flush_if_long() {
  if (document_.size() >= kBlockSize) view::write_out(document_.take());
}

void DocumentOutput::finish(const view::DisplayContext& context) {
  view::describe_origin(document_, origin_, context);
  document_.finish();
  view::write_out(document_.take());
}

}  // namespace minke::cli
