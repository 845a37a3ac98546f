#include "portal/openapi.h"

#include <nlohmann/json.hpp>
#include <set>

#include "base/version.h"
#include "portal/routes.h"
#include "portal/schemas.h"
#include "text/number.h"
#include "view/document/document.h"
#include "view/document/schema.h"

namespace minke::portal {
namespace {

using Json = nlohmann::ordered_json;

Json reference(const std::string& name) {
  return {{"$ref", "#/components/schemas/" + name}};
}

Json type_of(std::string_view type) {
  if (type.starts_with("list of ")) return {{"type", "array"}, {"items", type_of(type.substr(8))}};
  const bool maybe = type.ends_with('?');
  if (maybe) type.remove_suffix(1);
  Json value;
  if (type == "text")
    value = {{"type", "string"}};
  else if (type == "integer" || type == "number" || type == "boolean")
    value = {{"type", type}};
  else if (type == "time")
    value = {{"type", "integer"}, {"format", "int64"}, {"description", "seconds since the epoch; 0: none"}};
  else if (type == "any")
    value = Json::object();
  else
    value = reference(std::string(type));
  if (maybe) value["nullable"] = true;
  return value;
}

Json own_schemas() {
  Json schemas = Json::object();
  for (const auto part : {schema_fields(), page_schema_fields()})
    for (const SchemaField& field : part) {
      Json& record = schemas[std::string(field.record)];
      if (record.is_null())
        record = {{"type", "object"}, {"properties", Json::object()}, {"required", Json::array()}};
      constexpr std::string_view kOptional = "optional ";
      const bool is_optional = field.type.starts_with(kOptional);
      record["properties"][std::string(field.field)] =
          type_of(field.type.substr(is_optional ? kOptional.size() : 0));
      if (!is_optional) record["required"].push_back(field.field);
    }
  return schemas;
}

Json parameter_schema(const Parameter& parameter) {
  switch (parameter.kind) {
    case Kind::kNumber:
    case Kind::kTime:
    case Kind::kVersion:
      return {{"type", "integer"}, {"minimum", parameter.least}, {"maximum", parameter.most}};
    case Kind::kWord: {
      Json words = Json::array();
      for (const std::string_view word : text::split(parameter.words, '|')) words.push_back(word);
      return {{"type", "string"}, {"enum", std::move(words)}};
    }
    case Kind::kJob:
      return {{"type", "string"}};
    default:
      return {{"type", "string"}, {"minLength", parameter.least}, {"maxLength", parameter.most}};
  }
}

Json answer_of(const Route& route, const std::string& prefix) {
  Json content;
  const std::string name(route.answers);
  if (route.has_own_form)
    content["application/json"]["schema"] = reference(prefix + name);
  else if (name == "events")
    content["text/event-stream"] = Json::object();
  else
    content["application/json"]["schema"] = type_of(name);
  return {{"description", "the answer"}, {"content", std::move(content)}};
}

Json operation_of(const Route& route, const std::string& prefix) {
  Json operation = {{"summary", route.is}, {"parameters", Json::array()}};
  Json members = Json::object(), required = Json::array();
  std::set<std::string_view> named;
  for (const Parameter& parameter : route.parameters) {
    named.insert(parameter.name);
    if (parameter.in == In::kBody) {
      members[std::string(parameter.name)] = parameter_schema(parameter);
      if (parameter.is_required) required.push_back(parameter.name);
      continue;
    }
    operation["parameters"].push_back({{"name", parameter.name},
                                       {"in", parameter.in == In::kPath ? "path" : "query"},
                                       {"description", parameter.is},
                                       {"required", parameter.in == In::kPath || parameter.is_required},
                                       {"schema", parameter_schema(parameter)}});
  }
  if (route.path.find("{name}") != std::string_view::npos && !named.contains("name"))
    operation["parameters"].push_back(
        {{"name", "name"}, {"in", "path"}, {"required", true}, {"schema", {{"type", "string"}}}});
  if (!members.empty())
    operation["requestBody"]["content"]["application/json"]["schema"] = {
        {"type", "object"}, {"properties", std::move(members)}, {"required", std::move(required)}};
  operation["responses"]["200"] = answer_of(route, prefix);
  if (!route.has_own_form)
    operation["responses"]["default"] = {
        {"description", "what went wrong"},
        {"content", {{"application/json", {{"schema", reference("error")}}}}}};
  operation["security"] = route.who == Who::kAnyone
                              ? Json::array()
                              : Json::array({{{"token", Json::array()}}, {{"user_token", Json::array()}}});
  return operation;
}

}  // namespace

std::string openapi_document(int version) {
  const std::string page = "v0.0." + std::to_string(version), prefix = page + "_";
  Json paths = Json::object();
  for (const Route* route : all_routes()) {
    if (route->answers.empty()) continue;  // no part of the interface
    std::string path(route->path);
    if (const size_t at = path.find("v0.0.{version}"); at != std::string::npos) path.replace(at, 14, page);
    std::string method = text::lower_case(route->method);
    paths[path][method] = operation_of(*route, prefix);
  }
  view::Document slurm(view::DocumentFormat::kJson);
  view::describe_schemas(slurm, version);
  slurm.finish();
  Json schemas = own_schemas();
  schemas["openapi"] = {{"type", "object"}};
  const Json of_slurm = Json::parse(slurm.take());
  for (const auto& [name, schema] : of_slurm.items()) schemas[name] = schema;
  schemas[prefix + "openapi_resp"] = {{"type", "object"}};
  const Json document = {
      {"openapi", "3.0.3"},
      {"info", {{"title", "Minke"}, {"version", kVersion}}},
      {"paths", std::move(paths)},
      {"components",
       {{"schemas", std::move(schemas)},
        {"securitySchemes",
         {{"token", {{"type", "http"}, {"scheme", "bearer"}}},
          {"user_token", {{"type", "apiKey"}, {"in", "header"}, {"name", "X-SLURM-USER-TOKEN"}}}}}}}};
  return document.dump();
}

}  // namespace minke::portal
