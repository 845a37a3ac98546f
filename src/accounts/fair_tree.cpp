#include "accounts/fair_tree.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/result.h"

namespace minke::accounts {
namespace {

class Ranking {
 public:
  explicit Ranking(std::span<const Association> associations)
      : associations_(associations), result_(associations.size()), children_(associations.size()) {}

  std::vector<FairShare> run() {
    for (std::uint32_t i = 0; i < associations_.size(); ++i) {
      const Association& one = associations_[i];
      MINKE_CHECK(one.parent == Association::kRoot || (one.parent < i && !associations_[one.parent].is_user));
      (one.parent == Association::kRoot ? top_ : children_[one.parent]).push_back(i);
      users_ += one.is_user;
      result_[i].usage = one.usage;
    }
    for (std::uint32_t i = static_cast<std::uint32_t>(associations_.size()); i-- > 0;) {
      if (const std::uint32_t parent = associations_[i].parent; parent != Association::kRoot)
        result_[parent].usage += result_[i].usage;
    }
    double whole = 0;
    for (const std::uint32_t i : top_) whole += result_[i].usage;
    measure(top_, whole, 0);
    for (std::uint32_t i = 0; i < associations_.size(); ++i)
      measure(children_[i], result_[i].usage, result_[i].norm_shares);
    next_ = given_ = users_;
    walk(top_, false);
    return std::move(result_);
  }

 private:
  void measure(const std::vector<std::uint32_t>& siblings, double parent_usage, double parent_shares) {
    double shares = 0;
    for (const std::uint32_t i : siblings) shares += associations_[i].as_parent ? 0 : associations_[i].shares;
    for (const std::uint32_t i : siblings) {
      FairShare& one = result_[i];
      one.norm_shares = shares > 0 ? associations_[i].shares / shares : 0;
      one.effective_usage = parent_usage > 0 ? one.usage / parent_usage : 0;
      if (associations_[i].as_parent) {
        one.norm_shares = parent_shares;
        one.level_fs = std::numeric_limits<double>::infinity();
      } else if (one.norm_shares == 0) {
        one.level_fs = 0;
      } else if (one.effective_usage == 0) {
        one.level_fs = std::numeric_limits<double>::infinity();
      } else {
        one.level_fs = one.norm_shares / one.effective_usage;
      }
    }
  }

  // `tied`: the first user visited shares the rank given last.
  void walk(std::vector<std::uint32_t> siblings, bool tied) {
    std::erase_if(siblings,
                  [&](std::uint32_t i) { return associations_[i].as_parent && !associations_[i].is_user; });
    std::stable_sort(siblings.begin(), siblings.end(), [&](std::uint32_t a, std::uint32_t b) {
      if (result_[a].level_fs != result_[b].level_fs) return result_[a].level_fs > result_[b].level_fs;
      return associations_[a].is_user && !associations_[b].is_user;
    });
    for (std::size_t i = 0; i < siblings.size();) {
      const double level_fs = result_[siblings[i]].level_fs;
      if (i > 0) tied = result_[siblings[i - 1]].level_fs == level_fs;
      if (associations_[siblings[i]].is_user) {
        if (!tied) given_ = next_;
        --next_;
        result_[siblings[i++]].factor = static_cast<double>(given_) / static_cast<double>(users_);
        continue;
      }
      std::vector<std::uint32_t> merged;
      for (; i < siblings.size() && result_[siblings[i]].level_fs == level_fs; ++i) {
        const auto& below = children_[siblings[i]];
        merged.insert(merged.end(), below.begin(), below.end());
      }
      walk(std::move(merged), tied);
    }
  }

  const std::span<const Association> associations_;
  std::vector<FairShare> result_;
  std::vector<std::vector<std::uint32_t>> children_;
  std::vector<std::uint32_t> top_;
  std::uint64_t users_ = 0;
  std::uint64_t next_ = 0;   // rank of the next user who ties with nobody
  std::uint64_t given_ = 0;  // rank that was given last
};

}  // namespace

std::vector<FairShare> fair_tree(std::span<const Association> associations) {
  return Ranking(associations).run();
}

double decayed_usage(double usage, double seconds, double half_life) {
  return half_life > 0 ? usage * std::exp2(-seconds / half_life) : usage;
}

}  // namespace minke::accounts
