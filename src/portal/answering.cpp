#include "portal/answering.h"

#include <cstdlib>
#include <ctime>
#include <exception>
#include <nlohmann/json.hpp>

#include "portal/action_log.h"
#include "portal/compress.h"
#include "portal/desk.h"
#include "portal/own_pages.h"
#include "portal/slurm_answers.h"

namespace minke::portal {
namespace {

constexpr size_t kWorthCompressing = 2048;

int version_of(const Match& match) {
  for (const auto& [name, value] : match.captured) {
    const int version = name == "version" ? std::atoi(value.c_str()) : 0;
    if (version >= kOldestPage && version <= kNewestPage) return version;
  }
  return kNewestPage;
}

void make_small(Reply& reply) {
  std::string small = compressed(reply.body);
  if (small.empty()) return;
  reply.body = std::move(small);
  reply.is_compressed = true;
}

void note_change(const Request& request, const Reply& reply, const Desk& desk) {
  const std::string what = change_in_words(request, reply);
  if (!what.empty()) log_action({std::time(nullptr), desk.user(), what, reply.status});
}

}  // namespace

std::string change_in_words(const Request& request, const Reply& reply) {
  if (request.method == "GET" || reply.body.starts_with(R"({"job_id":0,)")) return {};
  std::string what = request.method + " ";
  for (const std::string& segment : request.segments) what += "/" + segment;
  return what;
}

bool is_api(const Request& request) {
  if (request.segments.empty()) return false;
  const std::string& first = request.segments[0];
  return first == "api" || first == "slurm" || first == "slurmdb" || first == "openapi";
}

Reply reply_without_route(const Request& request, const Match& match) {
  if (!match.allowed.empty()) {
    Reply reply = error_reply(405, Error{0, "this address is asked by " + match.allowed});
    reply.headers.emplace_back("Allow", match.allowed);
    return reply;
  }
  if (!request.segments.empty() && request.segments[0].starts_with("slurm"))
    return {
        .status = 404,
        .type = "text/plain",
        .body =
            "Unable to find requested URL endpoint. Please query the '/openapi/v3' endpoint for the OpenAPI "
            "specification which includes a list of all possible endpoints."};
  if (is_api(request)) return error_reply(404, Error{0, "there is no such address; see /openapi/v3"});
  if (request.method != "GET") return error_reply(405, Error{0, "this address is asked by GET"});
  return OwnPages::file(request);
}

Reply failed_reply(const Match& match, unsigned status, const Error& error) {
  return match.route->has_own_form ? slurm_error(match.route->answers, version_of(match), error, status)
                                   : error_reply(status, error);
}

Reply reply_to(const Request& request, const Match& match, const Result<engine::Engine*>& cluster,
               Desk& desk) {
  static const bool is_public = std::getenv(kPublicVariable) != nullptr;
  if (is_public && match.route->who != Who::kPublic)
    return failed_reply(match, 403, Error{0, "this is for those who have logged in"});
  if (!cluster) return failed_reply(match, 503, cluster.error());
  Reply reply;
  try {
    Call call(**cluster, desk);
    if (const Status read = read_parameters(match, request, call); !read)
      return failed_reply(match, 400, read.error());
    if (match.route->takes_body) call.body = request.body;
    auto answered = match.route->answer(call);
    reply =
        answered ? std::move(*answered) : failed_reply(match, status_of(answered.error()), answered.error());
  } catch (const nlohmann::json::exception&) {  // a body with members of other types than are read
    return failed_reply(match, 400, Error{0, "a member of the body has another type than it should have"});
  } catch (const std::exception& problem) {  // of libraries: out of memory, for example
    return failed_reply(match, 500, Error{0, problem.what()});
  }
  note_change(request, reply, desk);
  const bool takes_gzip = request.header("accept-encoding").find("gzip") != std::string_view::npos;
  if (takes_gzip && !reply.is_compressed && reply.body.size() >= kWorthCompressing) make_small(reply);
  return reply;
}

}  // namespace minke::portal
