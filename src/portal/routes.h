// The one table of what the portal answers: method, address, whom, parameters with their types and bounds,
// and the function. Dispatch, the OpenAPI document (openapi.h) and the tests of all addresses come from it. A
// value that does not fit its row never reaches a function.
//
// A function runs in a thread of the workers' (workers.h), with an engine of its own.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "portal/message.h"

namespace minke::engine {
class Engine;
}  // namespace minke::engine

namespace minke::portal {

class Desk;

enum class Who : uint8_t {
  kAnyone,   // also who has not logged in
  kPublic,   // also who has not logged in, at a shared portal whose site says so; else a visitor
  kVisitor,  // what he may see and do is the engine's to say
};

enum class Kind : uint8_t { kText, kNumber, kTime, kWord, kJob, kVersion };
enum class In : uint8_t { kPath, kQuery, kBody };

struct Parameter {
  std::string_view name, is;
  Kind kind = Kind::kText;
  In in = In::kQuery;
  int64_t least = 0, most = 256;  // of a number; of a text: of its bytes
  std::string_view words = {};    // of a word: "asc|desc"
  bool is_required = false;
};

// The values of a request's parameters, which fit their rows.
class Values {
 public:
  bool has(std::string_view name) const { return values_.contains(name); }
  std::string text(std::string_view name) const;
  int64_t number(std::string_view name, int64_t otherwise = 0) const;  // also a time, and a version
  void set(std::string_view name, std::string value) { values_.insert_or_assign(name, std::move(value)); }

 private:
  std::map<std::string_view, std::string> values_;
};

// One request on its way through a function.
class Call : public Values {
 public:
  Call(engine::Engine& asked, Desk& own) : cluster(asked), desk(own) {}

  engine::Engine& cluster;
  Desk& desk;
  std::string body;  // of routes that take it
};

using Answering = Result<Reply> (*)(Call& call);

struct Route {
  std::string_view method, path;  // "/api/v1/jobs/{job}", "/slurm/v0.0.{version}/nodes"
  Who who;
  std::string_view is;
  Answering answer;  // nullptr: the portal itself answers, in the server's thread
  std::string_view answers =
      {};  // the record of the answer, for OpenAPI: of schemas.h, or view/document/answers.h
  std::span<const Parameter> parameters = {};
  bool has_own_form =
      false;                // a page of Slurm's: errors have Slurm's form, and unknown parameters are let be
  bool takes_body = false;  // the function reads it; else its members are parameters
};

std::span<const Route> own_routes();      // the portal itself: sessions, assets, events
std::span<const Route> job_routes();      // /api/v1/jobs…
std::span<const Route> cluster_routes();  // /api/v1/…
std::span<const Route> page_routes();     // /api/v1/…: runs, accounts, storage, what was
std::span<const Route> app_routes();      // /api/v1/apps, /api/v1/interactive
std::span<const Route> slurm_routes();    // /slurm, /slurmdb
const std::vector<const Route*>& all_routes();

// The versions of Slurm's data_parser that pages are served in.
inline constexpr int kOldestPage = 40, kNewestPage = 45;

struct Match {
  const Route* route = nullptr;
  std::vector<std::pair<std::string_view, std::string>> captured;
  std::string allowed;  // where the address is known, but not for this method: "GET, POST"
};
Match find_route(const Request& request);

// Reads the values of path, query and body into `values`. Errors say which parameter is wrong, and how.
Status read_parameters(const Match& match, const Request& request, Values& values);

}  // namespace minke::portal
