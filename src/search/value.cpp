#include "search/value.h"

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include <fmt/format.h>

namespace minke::search {

namespace {

using Json = nlohmann::ordered_json;

std::string real_text(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  std::string text = fmt::format("{}", number);
  // A number that was real stays one: 1.0, not 1.
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string quoted(const std::string& text) {
  const char mark = text.find('\'') != std::string::npos && text.find('"') == std::string::npos ? '"' : '\'';
  std::string out(1, mark);
  for (const char c : text) {
    if (c == mark || c == '\\')
      out.append(1, '\\').append(1, c);
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (c == '\r')
      out += "\\r";
    else
      out += c;
  }
  return out.append(1, mark);
}

std::string literal(const Json& json) {
  if (json.is_null()) return "None";
  if (json.is_boolean()) return json.get<bool>() ? "True" : "False";
  if (json.is_string()) return quoted(json.get<std::string>());
  if (json.is_number_float()) return real_text(json.get<double>());
  if (json.is_number()) return json.dump();
  std::string out;
  const bool list = json.is_array();
  for (const auto& [key, value] : json.items()) {
    if (!out.empty()) out += ", ";
    out += (list ? "" : quoted(key) + ": ") + literal(value);
  }
  return (list ? "[" : "{") + out + (list ? "]" : "}");
}

}  // namespace

std::string json_string(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string json_of(const Value& value) {
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
  if (const auto* whole = std::get_if<int64_t>(&value)) return std::to_string(*whole);
  if (const auto* real = std::get_if<double>(&value)) return std::isfinite(*real) ? real_text(*real) : "null";
  if (const auto* text = std::get_if<std::string>(&value)) return json_string(*text);
  if (const auto* compound = std::get_if<Compound>(&value)) return compound->json;
  return "null";
}

std::string python_text(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return python_literal(value);
}

std::string python_literal(const Value& value) {
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "True" : "False";
  if (const auto* whole = std::get_if<int64_t>(&value)) return std::to_string(*whole);
  if (const auto* real = std::get_if<double>(&value)) return real_text(*real);
  if (const auto* text = std::get_if<std::string>(&value)) return quoted(*text);
  if (const auto* compound = std::get_if<Compound>(&value)) {
    const Json json = Json::parse(compound->json, nullptr, false);
    return json.is_discarded() ? compound->json : literal(json);
  }
  return "None";
}

}  // namespace minke::search
