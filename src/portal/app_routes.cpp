// The rows of routes.h for interactive applications.
#include "portal/app_answers.h"

namespace minke::portal {
namespace {

constexpr Parameter kName[] = {{"name", "a session's key", Kind::kText, In::kPath, 1, 64}};
constexpr Parameter kOpen[] = {{"name", "a session's key", Kind::kText, In::kPath, 1, 64},
                               {"start", "a page below its address", Kind::kText, In::kQuery, 0, 512}};

constexpr Route kRoutes[] = {
    {"GET", "/api/v1/apps", Who::kVisitor, "interactive applications, with their forms", list_apps,
     "app_list"},
    {"GET", "/api/v1/interactive", Who::kVisitor, "one's sessions of them", list_app_sessions,
     "app_session_list"},
    {"POST",
     "/api/v1/interactive",
     Who::kVisitor,
     "begins one: {app, time, cpus, memory, gpus, account, partition, modules, fields}",
     start_app,
     "app_started",
     {},
     false,
     true},
    {"DELETE", "/api/v1/interactive/{name}", Who::kVisitor, "ends one; forgets one that has ended",
     end_app_session, "changed", kName},
    {"GET", "/api/v1/interactive/{name}/open", Who::kVisitor, "leads a browser there", nullptr, "any", kOpen},
};

}  // namespace

std::span<const Route> app_routes() {
  return kRoutes;
}

}  // namespace minke::portal
