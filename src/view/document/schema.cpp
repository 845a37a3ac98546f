#include "view/document/schema.h"

#include <set>
#include <string>
#include <string_view>

#include "view/document/answers.h"
#include "view/document/shape.h"

namespace minke::view {
namespace {

constexpr DocumentPage kPages[] = {
    {"/slurm", "/shares", answer::kShares},
    {"/slurm", "/diag", answer::kDiagnostics},
    {"/slurm", "/ping", answer::kPings},
    {"/slurm", "/licenses", answer::kLicenses},
    {"/slurm", "/jobs", answer::kJobs},
    {"/slurm", "/jobs/state", answer::kJobs},
    {"/slurm", "/nodes", answer::kNodes},
    {"/slurm", "/partitions", answer::kPartitions},
    {"/slurm", "/reservations", answer::kReservations},
    {"/slurm", "/conf", answer::kConfiguration, 45},
    {"/slurmdb", "/config", answer::kAccountingDump},
    {"/slurmdb", "/conf", answer::kAccountingConfiguration, 45},
    {"/slurmdb", "/tres", answer::kTres},
    {"/slurmdb", "/qos", answer::kQos},
    {"/slurmdb", "/associations", answer::kAssociations},
    {"/slurmdb", "/instances", answer::kInstances},
    {"/slurmdb", "/users", answer::kUsers},
    {"/slurmdb", "/clusters", answer::kClusters},
    {"/slurmdb", "/wckeys", answer::kWckeys},
    {"/slurmdb", "/accounts", answer::kAccounts},
    {"/slurmdb", "/jobs", answer::kAccountedJobs},
    {"/slurmdb", "/diag", answer::kAccountingStatistics},
    {"/slurmdb", "/ping", answer::kAccountingPings, 42},
};

// Writes schemas of one version.
class SchemaWriter {
 public:
  SchemaWriter(Document& document, int version)
      : document_(document), version_(version), prefix_("v0.0." + std::to_string(version) + "_") {}

  void record(const ShapeEntity& entity) {
    if (shape_of(entity.name, version_)->members.empty()) return;  // not of this version
    document_.begin_object(prefix_ + std::string(entity.name));
    document_.text("type", "object");
    members(entity, "");
    document_.end();
  }

  void flagged_number(std::string_view name, std::string_view type, std::string_view format) {
    document_.begin_object(prefix_ + std::string(name));
    document_.text("type", "object");
    document_.begin_object("properties");
    for (const char* flag : {"set", "infinite"}) plain(flag, "boolean", "");
    plain("number", type, format);
    document_.end();
    document_.end();
  }

 private:
  // Writes the properties whose path begins with `within`; inner objects once, where their first field
  // stands.
  void members(const ShapeEntity& entity, const std::string& within) {
    document_.begin_object("properties");
    std::set<std::string> inner;
    for (const ShapeField& field : entity.fields) {
      if (!is_in(field, version_) || !field.path.starts_with(within)) continue;
      const std::string rest(field.path.substr(within.size()));
      const size_t slash = rest.find('/');
      if (slash == std::string::npos) {
        property(rest, field);
      } else if (const std::string name = rest.substr(0, slash); inner.insert(name).second) {
        document_.begin_object(name);
        document_.text("type", "object");
        members(entity, within + name + "/");
        document_.end();
      }
    }
    document_.end();
  }

  void plain(std::string_view key, std::string_view type, std::string_view format) {
    document_.begin_object(key);
    document_.text("type", type);
    if (!format.empty()) document_.text("format", format);
    document_.end();
  }
  void reference(std::string_view key, std::string_view name) {
    document_.begin_object(key);
    document_.text("$ref", "#/components/schemas/" + prefix_ + std::string(name));
    document_.end();
  }
  void begin_items(std::string_view key) {
    document_.begin_object(key);
    document_.text("type", "array");
  }
  void words(std::string_view key, std::string_view list) {
    document_.begin_object(key);
    document_.text("type", "string");
    document_.begin_array("enum");
    for (std::string_view word : words_of(list, version_)) document_.text(word);
    document_.end();
    document_.end();
  }

  void property(const std::string& key, const ShapeField& field) {
    switch (field.kind) {
      case kText:
        return plain(key, "string", "");
      case kInt32:
        return plain(key, "integer", "int32");
      case kInt64:
        return plain(key, "integer", "int64");
      case kReal:
        return plain(key, "number", "double");
      case kTrueFalse:
        return plain(key, "boolean", "");
      case kNumber16:
        return reference(key, "uint16_no_val_struct");
      case kNumber32:
        return reference(key, "uint32_no_val_struct");
      case kNumber64:
        return reference(key, "uint64_no_val_struct");
      case kRealNumber:
        return reference(key, "float64_no_val_struct");
      case kNothing:
        return plain(key, "object", "");
      case kWord:
        return words(key, field.of);
      case kRecord:
      case kMaybeRecord:
        return reference(key, field.of);
      default:
        return list(key, field);
    }
  }

  void list(const std::string& key, const ShapeField& field) {
    begin_items(key);
    switch (field.kind) {
      case kTexts:
        plain("items", "string", "");
        break;
      case kInts32:
        plain("items", "integer", "int32");
        break;
      case kWords:
        words("items", field.of);
        break;
      case kList:
        reference("items", field.of);
        break;
      default:
        document_.begin_object("items");
        document_.end();
    }
    document_.end();
  }

  Document& document_;
  int version_;
  std::string prefix_;
};

}  // namespace

std::span<const DocumentPage> document_pages() {
  return kPages;
}

void describe_schemas(Document& document, int version) {
  SchemaWriter writer(document, version);
  for (const ShapeEntity* entity : shape_entities()) writer.record(*entity);
  writer.flagged_number("uint16_no_val_struct", "integer", "int32");
  writer.flagged_number("uint32_no_val_struct", "integer", version < 43 ? "int64" : "int32");
  writer.flagged_number("uint64_no_val_struct", "integer", "int64");
  writer.flagged_number("float64_no_val_struct", "number", "double");
}

}  // namespace minke::view
