#include "sched/constraint.h"

#include <algorithm>
#include <string>

#include "model/error.h"

namespace minke::sched {
namespace {

constexpr std::size_t kMaxLength = 4096;
constexpr std::size_t kMaxTerms = 256;
constexpr int kMaxDepth = 16;

constexpr std::size_t kMaxCases = 64;
constexpr std::uint32_t kMaxNodes = 1u << 20;

void make_canonical(FeatureTerms& terms) {
  for (auto& term : terms) {
    std::sort(term.begin(), term.end());
    term.erase(std::unique(term.begin(), term.end()), term.end());
  }
  std::sort(terms.begin(), terms.end());
  terms.erase(std::unique(terms.begin(), terms.end()), terms.end());
}

FeatureTerms either_of(FeatureTerms left, const FeatureTerms& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

FeatureTerms both_of(const FeatureTerms& left, const FeatureTerms& right) {
  FeatureTerms product;
  for (const auto& one : left) {
    for (const auto& other : right) {
      product.push_back(one);
      product.back().insert(product.back().end(), other.begin(), other.end());
    }
  }
  return product;
}

// Recursive descent: either = both {"|" both}; both = one {("&" | ",") one};
// one = NAME ["*" NUMBER] | "(" either ")" | "[" both {"|" both} "]".
class Parser {
 public:
  using Cases = std::vector<FeatureTerms>;

  Parser(std::string_view text, const MachineLayout& layout) : text_(text), layout_(layout) {}

  Result<Constraint> parse() {
    if (text_.size() > kMaxLength) return bad("is longer than " + std::to_string(kMaxLength) + " characters");
    auto cases = either(0);
    if (!cases) return failure(cases.error());
    if (position_ < text_.size()) return unexpected();
    return Constraint{std::move(*cases), std::move(counts_)};
  }

 private:
  Result<Cases> either(int depth) {
    auto cases = both(depth);
    while (cases && skip('|')) {
      const auto more = both(depth);
      if (!more) return more;
      if (!counts_.empty()) return bad("counts of nodes cannot be alternatives");
      cases = combined(*cases, *more, either_of);
    }
    return cases;
  }

  Result<Cases> both(int depth) {
    auto cases = one(depth);
    while (cases && (skip('&') || skip(','))) {
      const auto more = one(depth);
      if (!more) return more;
      cases = combined(*cases, *more, both_of);
    }
    return cases;
  }

  template <typename Combine>
  Result<Cases> combined(const Cases& left, const Cases& right, Combine combine) const {
    Cases result;
    if (left.size() * right.size() > kMaxCases) return bad("has too many alternatives");
    for (const FeatureTerms& one : left) {
      for (const FeatureTerms& other : right) {
        if (one.size() * other.size() > kMaxTerms) return bad("has too many alternatives");
        result.push_back(combine(one, other));
        make_canonical(result.back());
        if (result.back().size() > kMaxTerms) return bad("has too many alternatives");
      }
    }
    return result;
  }

  // Behind "[": each alternative is a case of its own.
  Result<Cases> same_on_all(int depth) {
    Cases cases;
    do {
      auto more = both(depth);
      if (!more) return more;
      cases.insert(cases.end(), more->begin(), more->end());
      if (cases.size() > kMaxCases) return bad("has too many alternatives");
      if (cases.size() > 1 && !counts_.empty()) return bad("counts of nodes cannot be alternatives");
    } while (skip('|'));
    if (!skip(']')) return unexpected();
    return cases;
  }

  Result<Cases> one(int depth) {
    const bool round = skip('(');
    if (round || skip('[')) {
      if (depth == kMaxDepth) return bad("is nested too deeply");
      if (!round) return same_on_all(depth + 1);
      auto cases = either(depth + 1);
      if (cases && !skip(')')) return unexpected();
      if (!cases || !skip('*')) return cases;
      if (cases->size() != 1 || cases->front().size() != 1) return bad("what is counted has no alternatives");
      return counted(cases->front().front());
    }
    const std::size_t end = std::min(text_.find_first_of("&,|()[]*", position_), text_.size());
    const std::string_view name = text_.substr(position_, end - position_);
    if (name.empty()) return unexpected();
    position_ = end;
    const auto feature = layout_.find_feature(name);
    if (!feature) return bad("no node has the feature " + std::string(name));
    if (!skip('*')) return Cases{{{*feature}}};
    return counted({*feature});
  }

  // Behind "*".
  Result<Cases> counted(std::vector<FeatureId> features) {
    std::uint32_t count = 0;
    for (; position_ < text_.size() && text_[position_] >= '0' && text_[position_] <= '9'; ++position_) {
      count = count * 10 + static_cast<std::uint32_t>(text_[position_] - '0');
      if (count > kMaxNodes) return bad("a count of nodes is out of range");
    }
    if (count == 0) return bad("a count of nodes must follow *");
    counts_.push_back({std::move(features), count});
    return Cases{{{}}};  // no demand on each node
  }

  bool skip(char wanted) {
    if (position_ >= text_.size() || text_[position_] != wanted) return false;
    ++position_;
    return true;
  }

  tl::unexpected<Error> unexpected() const {
    if (position_ >= text_.size()) return bad("ends too early");
    std::string problem = "unexpected ";
    problem += text_[position_];
    return bad(problem + " at character " + std::to_string(position_ + 1));
  }
  tl::unexpected<Error> bad(const std::string& problem) const {
    return failure("--constraint=" + std::string(text_.substr(0, 200)) + ": " + problem,
                   model::kInvalidFeature);
  }

  const std::string_view text_;
  const MachineLayout& layout_;
  std::size_t position_ = 0;
  std::vector<FeatureCount> counts_;
};

}  // namespace

Result<Constraint> parse_constraint(std::string_view text, const MachineLayout& layout) {
  return Parser(text, layout).parse();
}

bool has_features(const MachineLayout& layout, NodeId node, const FeatureTerms& any_of) {
  const std::size_t rank = layout.nodes()[node].rank;
  const auto has = [&](FeatureId feature) {
    return (layout.nodes_with_feature(feature).word(rank / 64) >> rank % 64 & 1) != 0;
  };
  return any_of.empty() || std::any_of(any_of.begin(), any_of.end(), [&](const auto& all_of) {
           return std::all_of(all_of.begin(), all_of.end(), has);
         });
}

}  // namespace minke::sched
