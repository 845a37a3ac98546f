#include "sched/constraint.h"

#include <algorithm>
#include <string>

#include "model/error.h"

namespace minke::sched {
namespace {

constexpr std::size_t kMaxLength = 4096;
constexpr std::size_t kMaxTerms = 256;
constexpr int kMaxDepth = 16;

using Terms = std::vector<std::vector<FeatureId>>;

void make_canonical(Terms& terms) {
  for (auto& term : terms) {
    std::sort(term.begin(), term.end());
    term.erase(std::unique(term.begin(), term.end()), term.end());
  }
  std::sort(terms.begin(), terms.end());
  terms.erase(std::unique(terms.begin(), terms.end()), terms.end());
}

// Recursive descent: either = both {"|" both}; both = one {("&" | ",") one}; one = NAME | "(" either ")".
class Parser {
 public:
  Parser(std::string_view text, const MachineLayout& layout) : text_(text), layout_(layout) {}

  Result<Terms> parse() {
    if (text_.size() > kMaxLength) return bad("is longer than " + std::to_string(kMaxLength) + " characters");
    auto terms = either(0);
    if (terms && position_ < text_.size()) return unexpected();
    return terms;
  }

 private:
  Result<Terms> either(int depth) {
    auto terms = both(depth);
    while (terms && skip('|')) {
      const auto more = both(depth);
      if (!more) return more;
      terms->insert(terms->end(), more->begin(), more->end());
      make_canonical(*terms);
      if (terms->size() > kMaxTerms) return bad("has too many alternatives");
    }
    return terms;
  }

  Result<Terms> both(int depth) {
    auto terms = one(depth);
    while (terms && (skip('&') || skip(','))) {
      const auto more = one(depth);
      if (!more) return more;
      if (terms->size() * more->size() > kMaxTerms) return bad("has too many alternatives");
      Terms product;
      for (const auto& left : *terms) {
        for (const auto& right : *more) {
          product.push_back(left);
          product.back().insert(product.back().end(), right.begin(), right.end());
        }
      }
      make_canonical(product);
      terms = std::move(product);
    }
    return terms;
  }

  Result<Terms> one(int depth) {
    if (skip('(')) {
      if (depth == kMaxDepth) return bad("is nested too deeply");
      auto terms = either(depth + 1);
      if (terms && !skip(')')) return unexpected();
      return terms;
    }
    const std::size_t end = std::min(text_.find_first_of("&,|()[]*", position_), text_.size());
    const std::string_view name = text_.substr(position_, end - position_);
    if (name.empty()) return unexpected();
    position_ = end;
    const auto feature = layout_.find_feature(name);
    if (!feature) return bad("no node has the feature " + std::string(name));
    return Terms{{*feature}};
  }

  bool skip(char wanted) {
    if (position_ >= text_.size() || text_[position_] != wanted) return false;
    ++position_;
    return true;
  }

  tl::unexpected<Error> unexpected() const {
    if (position_ >= text_.size()) return bad("ends too early");
    const char at = text_[position_];
    if (at == '*') return bad("counts of nodes (*) are not supported");
    if (at == '[' || at == ']') return bad("brackets are not supported");
    std::string problem = "unexpected ";
    problem += at;
    return bad(problem + " at character " + std::to_string(position_ + 1));
  }
  tl::unexpected<Error> bad(const std::string& problem) const {
    return failure("--constraint=" + std::string(text_.substr(0, 200)) + ": " + problem,
                   model::kInvalidFeature);
  }

  const std::string_view text_;
  const MachineLayout& layout_;
  std::size_t position_ = 0;
};

}  // namespace

Result<Terms> parse_constraint(std::string_view text, const MachineLayout& layout) {
  auto terms = Parser(text, layout).parse();
  if (terms) make_canonical(*terms);
  return terms;
}

}  // namespace minke::sched
