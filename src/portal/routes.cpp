#include "portal/routes.h"

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "text/job_id.h"
#include "text/number.h"

namespace minke::portal {
namespace {

// Returns the value of "{name}" in a segment of a template; none: the segment is another one.
std::optional<std::pair<std::string_view, std::string>> captured(std::string_view part,
                                                                 const std::string& segment) {
  const size_t brace = part.find('{');
  const std::string_view before = part.substr(0, brace);
  if (!segment.starts_with(before) || segment.size() == before.size()) return std::nullopt;
  return std::pair(part.substr(brace + 1, part.size() - brace - 2), segment.substr(before.size()));
}

// A version that is none of ours is another address.
bool is_served(const std::pair<std::string_view, std::string>& value) {
  if (value.first != "version") return true;
  const auto version = text::parse_unsigned(value.second, kNewestPage);
  return version && *version >= kOldestPage && std::to_string(*version) == value.second;
}

bool fits(const Route& route, const Request& request, Match& match) {
  std::string_view path = route.path.substr(1);
  match.captured.clear();
  size_t at = 0;
  while (!path.empty()) {
    const std::string_view part = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(path.size(), part.size() + 1));
    if (at == request.segments.size()) return false;
    const std::string& segment = request.segments[at++];
    if (part.find('{') == std::string_view::npos) {
      if (part != segment) return false;
    } else if (auto value = captured(part, segment); value && is_served(*value)) {
      match.captured.push_back(std::move(*value));
    } else {
      return false;
    }
  }
  return at == request.segments.size();
}

tl::unexpected<Error> wrong(const Parameter& parameter, const std::string& what) {
  return failure("the parameter " + std::string(parameter.name) + " " + what, EINVAL);
}

std::string range_words(const Parameter& parameter) {
  return "is not a number from " + std::to_string(parameter.least) + " to " + std::to_string(parameter.most);
}

std::optional<int64_t> whole_number(std::string_view text) {
  const bool negative = text.starts_with('-');
  const auto value = text::parse_unsigned(text.substr(negative ? 1 : 0), INT64_MAX);
  if (!value) return std::nullopt;
  return negative ? -static_cast<int64_t>(*value) : static_cast<int64_t>(*value);
}

Status check(const Parameter& parameter, const std::string& value) {
  switch (parameter.kind) {
    case Kind::kText:
      if (value.size() < static_cast<size_t>(parameter.least)) return wrong(parameter, "is empty");
      if (value.size() > static_cast<size_t>(parameter.most))
        return wrong(parameter, "is longer than " + std::to_string(parameter.most) + " bytes");
      return {};
    case Kind::kNumber:
    case Kind::kVersion:
    case Kind::kTime: {
      const auto number = whole_number(value);
      if (!number || *number < parameter.least || *number > parameter.most)
        return wrong(parameter, range_words(parameter));
      return {};
    }
    case Kind::kWord:
      for (const std::string_view word : text::split(parameter.words, '|'))
        if (word == value) return {};
      return wrong(parameter, "is none of " + std::string(parameter.words));
    case Kind::kJob: {
      const auto job = text::parse_job_id(value);
      if (!job || job->step) return wrong(parameter, "is no job id, such as 12, 12_3 or 12+1");
      return {};
    }
  }
  return {};
}

const Parameter* parameter_of(const Route& route, std::string_view name, In in) {
  for (const Parameter& parameter : route.parameters)
    if (parameter.name == name && parameter.in == in) return &parameter;
  return nullptr;
}

Status take(const Parameter& parameter, std::string value, Values& call) {
  if (const Status checked = check(parameter, value); !checked) return checked;
  if (call.has(parameter.name)) return wrong(parameter, "stands there twice");
  call.set(parameter.name, std::move(value));
  return {};
}

Status read_body(const Route& route, const std::string& body, Values& call) {
  const bool expects = std::any_of(route.parameters.begin(), route.parameters.end(),
                                   [](const Parameter& one) { return one.in == In::kBody; });
  if (!expects || body.empty()) return {};
  const auto value = nlohmann::json::parse(body, nullptr, false);
  if (!value.is_object()) return failure("the body is no JSON object", EINVAL);
  for (const auto& [name, member] : value.items()) {
    const Parameter* parameter = parameter_of(route, name, In::kBody);
    if (parameter == nullptr && route.has_own_form) continue;
    if (parameter == nullptr) return failure("the body has an unknown member", EINVAL);
    std::string text;
    if (member.is_string())
      text = member.get<std::string>();
    else if (member.is_number_integer())
      text = std::to_string(member.get<int64_t>());
    else
      return wrong(*parameter, "is neither a text nor a whole number");
    if (const Status taken = take(*parameter, std::move(text), call); !taken) return taken;
  }
  return {};
}

}  // namespace

std::string Values::text(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::string() : found->second;
}

int64_t Values::number(std::string_view name, int64_t otherwise) const {
  const auto found = values_.find(name);
  return found == values_.end() ? otherwise : whole_number(found->second).value_or(otherwise);
}

const std::vector<const Route*>& all_routes() {
  static const std::vector<const Route*> routes = [] {
    std::vector<const Route*> all;
    for (const auto part :
         {own_routes(), job_routes(), cluster_routes(), page_routes(), app_routes(), slurm_routes()})
      for (const Route& route : part) all.push_back(&route);
    return all;
  }();
  return routes;
}

Match find_route(const Request& request) {
  Match match;
  for (const Route* route : all_routes()) {
    Match one;
    if (!fits(*route, request, one)) continue;
    if (route->method == request.method) {
      one.route = route;
      return one;
    }
    if (match.allowed.find(route->method) == std::string::npos)
      match.allowed += (match.allowed.empty() ? "" : ", ") + std::string(route->method);
  }
  return match;
}

Status read_parameters(const Match& match, const Request& request, Values& call) {
  const Route& route = *match.route;
  for (const auto& [name, value] : match.captured) {
    static constexpr Parameter kVersion{"version", "", Kind::kVersion, In::kPath, kOldestPage, kNewestPage};
    static constexpr Parameter kName{"name", "", Kind::kText, In::kPath, 1, 256};
    const Parameter* parameter = parameter_of(route, name, In::kPath);
    if (parameter == nullptr) parameter = name == "version" ? &kVersion : &kName;
    if (const Status checked = check(*parameter, value); !checked) return checked;
    call.set(name, value);
  }
  for (const auto& [name, value] : request.query) {
    const Parameter* parameter = parameter_of(route, name, In::kQuery);
    if (parameter == nullptr && route.has_own_form) continue;
    if (parameter == nullptr) return failure("there is no such parameter here", EINVAL);
    if (const Status taken = take(*parameter, value, call); !taken) return taken;
  }
  if (route.takes_body) return {};
  if (const Status read = read_body(route, request.body, call); !read) return read;
  for (const Parameter& parameter : route.parameters)
    if (parameter.is_required && !call.has(parameter.name)) return wrong(parameter, "is missing");
  return {};
}

}  // namespace minke::portal
