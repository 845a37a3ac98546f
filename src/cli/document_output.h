// --json and --yaml as options of a command, and the output of its document. One thread; blocking.
#pragma once

#include <optional>
#include <string_view>

#include "options/option.h"
#include "view/document/answers.h"
#include "view/document/document.h"
#include "view/document/records.h"
#include "view/text.h"

namespace minke::cli {

// --json and --yaml in a table of options: {{"json", '\0', kOptional, …}, document<&Asked::document>}. The
// command ends here with --json=list, and with an unknown shape.
struct TakeDocument {
  std::optional<int> operator()(std::optional<view::DocumentFormat>& format,
                                const options::Given& given) const;
};
template <auto... kMembers>
constexpr options::MemberSetter<TakeDocument, kMembers...> document;

// A document that is written to stdout while it is made.
class DocumentOutput {
 public:
  // `answer` is what it is: one of view/document/answers.h; empty: a document of no known shape.
  DocumentOutput(view::DocumentFormat format, view::DocumentOrigin origin, std::string_view answer)
      : document_(format, answer), origin_(std::move(origin)) {}
  view::Document& document() { return document_; }
  void flush_if_long();  // between two values
  // Adds the meta data, and writes everything out.
  void finish(const view::DisplayContext& context);

 private:
  view::Document document_;
  view::DocumentOrigin origin_;
};

}  // namespace minke::cli
