// A catalogue of translations: a file as gettext's tools write it (.po). Pure; any thread.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace minke::text {

class Catalogue {
 public:
  // Takes what it understands; entries that are marked fuzzy, or have no translation, are left out.
  explicit Catalogue(std::string_view po);
  // Empty: there is none. `form`: of a count, 0 for what French calls singular (0 and 1), else 1.
  std::string_view find(std::string_view english, size_t form = 0) const;
  size_t size() const { return texts_.size(); }

 private:
  struct Forms {
    std::string text[2];
  };
  std::map<std::string, Forms, std::less<>> texts_;
};

}  // namespace minke::text
