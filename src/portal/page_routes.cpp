// The rows of routes.h for runs side by side, accounts, storage, and what was.
#include "portal/page_answers.h"

namespace minke::portal {
namespace {

constexpr int64_t kLastTime = int64_t{1} << 40;

constexpr Parameter days(int64_t most = 366) {
  return {"days", "how far back", Kind::kNumber, In::kQuery, 1, most};
}
constexpr Parameter kAccount{"account", "only of this one", Kind::kText, In::kQuery, 1, 256};
constexpr Parameter kUser{"user", "only of this one; me: oneself", Kind::kText, In::kQuery, 1, 256};
constexpr Parameter kPath{"path", "an absolute path within a tier of one's own", Kind::kText, In::kQuery, 1,
                          4096};

constexpr Parameter kRanked[] = {
    {"metric", "ranks them", Kind::kText, In::kQuery, 1, 200},
    {"value", "of it", Kind::kWord, In::kQuery, 0, 0, "last|least|largest"},
    {"order", "the largest first, or the smallest", Kind::kWord, In::kQuery, 0, 0, "descending|ascending"},
    {"since", "jobs of this time and later; s since the epoch", Kind::kTime, In::kQuery, 0, kLastTime},
    {"limit", "at most so many", Kind::kNumber, In::kQuery, 1, 1000}};
constexpr Parameter kCompared[] = {{"jobs", "their numbers, with commas", Kind::kText, In::kQuery, 0, 400}};
constexpr Parameter kUsage[] = {
    {"since", "a year from then; else from the last first of April", Kind::kTime, In::kQuery, 0, kLastTime},
    kAccount};
constexpr Parameter kWaste[] = {days(), kAccount, kUser};
constexpr Parameter kOwners[] = {
    {"tier", "its name: then its files are counted", Kind::kText, In::kQuery, 1, 64}};
constexpr Parameter kPurges[] = {{"limit", "files to list of each", Kind::kNumber, In::kQuery, 0, 5000}};
constexpr Parameter kFiles[] = {
    kPath, {"snapshot", "as it was then; 0: as it is", Kind::kTime, In::kQuery, 0, kLastTime}};
constexpr Parameter kVersions[] = {kPath};
constexpr Parameter kRestore[] = {{"path", "of what was there", Kind::kText, In::kBody, 1, 4096, {}, true},
                                  {"version", "as they are listed", Kind::kText, In::kBody, 1, 64, {}, true},
                                  {"to", "another path for it", Kind::kText, In::kBody, 1, 4096}};
constexpr Parameter kSince[] = {
    {"since", "what ended after it; s since the epoch", Kind::kTime, In::kQuery, 0, kLastTime}};
constexpr Parameter kDaysOfUser[] = {days(), kUser};
constexpr Parameter kJobOnly[] = {{"job", "a job's number", Kind::kJob, In::kPath}};
constexpr Parameter kTimeline[] = {
    days(31),
    kUser,
    {"node", "only there", Kind::kText, In::kQuery, 1, 256},
    {"everyone", "of all users, without bars", Kind::kNumber, In::kQuery, 1, 1}};
constexpr Parameter kTemplate[] = {{"name", "of it", Kind::kText, In::kBody, 1, 100, {}, true},
                                   {"script", "its text", Kind::kText, In::kBody, 1, 65536, {}, true}};
constexpr Parameter kHours[] = {{"hours", "how far ahead", Kind::kNumber, In::kQuery, 1, 168}};
constexpr Parameter kBy[] = {
    {"by", "who holds most of it first", Kind::kWord, In::kQuery, 0, 0, "cores|gpus|memory"}};
constexpr Parameter kEvents[] = {{"node", "only there", Kind::kText, In::kQuery, 1, 256}, days()};
constexpr Parameter kNote[] = {
    {"about", "what the note is on", Kind::kWord, In::kBody, 0, 0, "node|job", true},
    {"name", "of the node, or the job's number", Kind::kText, In::kBody, 1, 256, {}, true},
    {"note", "the text; empty: none", Kind::kText, In::kBody, 0, 1024, {}, true}};
constexpr Parameter kPrice[] = {{"cpus", "of a task", Kind::kNumber, In::kQuery, 1, 1'000'000},
                                {"tasks", "so many", Kind::kNumber, In::kQuery, 1, 1'000'000},
                                {"memory", "4G", Kind::kText, In::kQuery, 1, 32},
                                {"gpus", "a100:2", Kind::kText, In::kQuery, 1, 64},
                                {"time", "its limit, as sbatch takes it", Kind::kText, In::kQuery, 1, 32}};
constexpr Parameter kDays[] = {days(31)};
constexpr Parameter kDaysOfYear[] = {days()};

constexpr Route kRoutes[] = {
    {"GET", "/api/v1/runs", Who::kVisitor, "one's runs with their metrics, ranked", rank_runs, "runs",
     kRanked},
    {"GET", "/api/v1/compare", Who::kVisitor, "runs side by side", compare_runs, "compared", kCompared},
    {"GET", "/api/v1/usage", Who::kVisitor, "what accounts used of a year: minke usage", show_usage, "usage",
     kUsage},
    {"GET", "/api/v1/shares", Who::kVisitor, "the fair-share tree: sshare", show_share_tree, "share_tree"},
    {"GET", "/api/v1/waste", Who::kVisitor, "what was held and not used, by seff's rules", show_waste,
     "waste_page", kWaste},
    {"GET", "/api/v1/storage/owners", Who::kVisitor, "what each person has in a tier", show_owners,
     "owners_page", kOwners},
    {"GET", "/api/v1/storage/purges", Who::kVisitor, "what will be purged, and when", show_purges, "purges",
     kPurges},
    {"GET", "/api/v1/storage/snapshots", Who::kVisitor, "snapshots of one's tiers", show_snapshots,
     "snapshots"},
    {"GET", "/api/v1/storage/files", Who::kVisitor, "a directory, also as it was", list_files, "files",
     kFiles},
    {"GET", "/api/v1/storage/versions", Who::kVisitor, "a file in the snapshots", list_versions, "versions",
     kVersions},
    {"POST", "/api/v1/storage/restore", Who::kVisitor, "minke restore", restore_file, "restored", kRestore},
    {"GET", "/api/v1/messages", Who::kVisitor, "what one should know today", show_messages, "messages"},
    {"GET", "/api/v1/failures", Who::kVisitor, "one's jobs that failed, and why", show_failures, "failures",
     kSince},
    {"GET", "/api/v1/footprint", Who::kVisitor, "energy, CO2 and cost of a user's jobs", show_footprint,
     "footprint", kDaysOfUser},
    {"GET", "/api/v1/jobs/{job}/footprint", Who::kVisitor, "energy, CO2 and cost of a job",
     show_job_footprint, "footprint", kJobOnly},
    {"GET", "/api/v1/timeline", Who::kVisitor, "what ran on a node, or of a user", show_timeline, "timeline",
     kTimeline},
    {"GET", "/api/v1/public/held", Who::kPublic, "processors and GPUs that jobs held", show_held, "timeline",
     kDays},
    {"GET", "/api/v1/waits", Who::kVisitor, "how long jobs of each kind waited", show_waits, "waits", kDays},
    {"GET", "/api/v1/price", Who::kVisitor, "what a job would hold and cost", show_price, "price", kPrice},
    {"GET", "/api/v1/reservations", Who::kVisitor, "all reservations", list_reservations, "reservations"},
    {"GET", "/api/v1/forecast", Who::kVisitor, "what the cluster will hold, and what starts next",
     show_forecast, "forecast", kHours},
    {"GET", "/api/v1/templates", Who::kVisitor, "scripts that one keeps", list_templates, "templates"},
    {"POST", "/api/v1/templates", Who::kVisitor, "keeps one, or another in its place", keep_template,
     "changed", kTemplate},
    {"DELETE", "/api/v1/templates/{name}", Who::kVisitor, "removes one", remove_template, "changed"},
    {"GET", "/api/v1/levels", Who::kVisitor, "LevelFS of accounts over time", show_levels, "levels",
     kDaysOfYear},
    {"GET", "/api/v1/rights", Who::kVisitor, "whether one operates the cluster", show_rights, "rights"},
    {"GET", "/api/v1/top", Who::kVisitor, "who holds and uses what now", show_top, "top", kBy},
    {"GET", "/api/v1/node_events", Who::kVisitor, "nodes out of use, and jobs that ended with theirs",
     list_node_events, "node_events", kEvents},
    {"GET", "/api/v1/limits", Who::kVisitor, "settings of associations and QOS", list_limits, "limits"},
    {"GET", "/api/v1/notes", Who::kVisitor, "administrators' comments", list_notes, "notes"},
    {"POST", "/api/v1/notes", Who::kVisitor, "a comment on a node or a job", write_note, "changed", kNote},
    {"GET", "/api/v1/log", Who::kVisitor, "who did what", show_log, "log", kDays},
};

}  // namespace

std::span<const Route> page_routes() {
  return kRoutes;
}

}  // namespace minke::portal
