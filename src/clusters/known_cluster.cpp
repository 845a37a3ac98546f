#include "clusters/known_cluster.h"

namespace minke::clusters {

namespace {

GpuOffer part(std::string_view specifier, std::string_view rgu_type, double memory_gib, uint32_t cores,
              uint32_t memory_gb) {
  return {specifier, rgu_type, memory_gib, 1, cores, memory_gb, true, 1, "", false};
}

GpuOffer whole(std::string_view specifier, std::string_view rgu_type, double memory_gib, uint32_t per_node,
               uint32_t cores, uint32_t memory_gb) {
  return {specifier, rgu_type, memory_gib, per_node, cores, memory_gb, false, 1, "", false};
}

GpuOffer whole_nodes(GpuOffer offer) {
  offer.least_per_node = offer.per_node;
  return offer;
}

GpuOffer one_or_all(GpuOffer offer) {
  offer.one_or_all = true;
  return offer;
}

GpuOffer constrained(GpuOffer offer, std::string_view constraint) {
  offer.constraint = constraint;
  return offer;
}

constexpr uint64_t kGB = 1'000'000'000, kTB = 1000 * kGB, kThousand = 1000, kMillion = 1'000'000;
constexpr uint32_t kHour = 3600, kDay = 24 * kHour, kWeek = 7 * kDay;
const std::vector<SnapshotRule> kDaily = {{kDay, 30}};
const std::vector<SnapshotRule> kDailyAndWeekly = {{kDay, 7}, {kWeek, 4}};
const std::vector<SnapshotRule> kTwoWeeks = {{kHour / 2, 48}, {kDay, 14}};
const std::vector<SnapshotRule> kOften = {{kHour / 2, 6}, {2 * kHour, 12}, {kDay, 7}, {kWeek, 4}};

// A job's own directory, by the name that this cluster uses beside SLURM_TMPDIR.
Tier job_local(const char* variable) {
  Tier tier;
  tier.name = "local";
  tier.variable = variable;
  tier.of_job = true;
  return tier;
}

Tier with_snapshots(Tier tier, const std::vector<SnapshotRule>& rules) {
  tier.snapshots = rules;
  return tier;
}

Tier backed_up(Tier tier) {
  tier.backed_up = true;
  return tier;
}

Tier not_in_jobs(Tier tier) {
  tier.in_jobs = InJobs::kNo;
  return tier;
}

Tier purged_after(Tier tier, uint32_t days) {
  tier.purge_days = days;
  return tier;
}

Tier linked(Tier tier, const char* link) {
  tier.link = link;
  return tier;
}

Tier of_node(Tier tier) {
  tier.of_node = true;
  return tier;
}

Tier purposed(Tier tier, const char* purpose) {
  tier.purpose = purpose;
  return tier;
}

constexpr char kForHome[] = "for code, job scripts and settings: small files that must not be lost";
constexpr char kForScratch[] = "for what jobs read and write: data sets at work, checkpoints, fresh results";
constexpr char kForProject[] = "for what the group shares: data sets, environments, results to keep";
constexpr char kForNearline[] = "for archives, such as tar files, of what is not needed soon";
constexpr char kForWork[] = "for what jobs read and write: data sets, environments, results";
constexpr char kForVault[] = "for results and data sets that are to be kept, and seldom change";
constexpr char kForNode[] = "for what is needed on this node for hours: copies of data sets, caches";

// Narval, Rorqual and Fir differ only in nearline, Nibi in a little more.
std::vector<Tier> alliance_tiers(uint64_t nearline) {
  Tier home{"home", "", "", false, 50 * kGB, 50 * kGB, 500 * kThousand, 500 * kThousand};
  Tier scratch{"scratch", "/scratch/%u", "SCRATCH", false, 20 * kTB, 20 * kTB, kMillion, kMillion};
  Tier project{"project", "/project/%g", "PROJECT", true, kTB, kTB, 500 * kThousand, 500 * kThousand};
  Tier archive{"nearline", "/nearline/%g", "", true, nearline, nearline, 5000, 5000};
  return {purposed(backed_up(with_snapshots(home, kDaily)), kForHome),
          purposed(linked(purged_after(scratch, 60), "scratch"), kForScratch),
          purposed(linked(backed_up(with_snapshots(project, kDaily)), "projects/%g"), kForProject),
          purposed(linked(not_in_jobs(backed_up(archive)), "nearline/%g"), kForNearline),
          job_local("LOCAL_SCRATCH")};
}

KnownCluster fir() {
  return {"fir",
          Bundle{0.98, 23.6},
          {part("nvidia_h100_80gb_hbm3_1g.10gb", "h100_1g.10gb", 10, 1, 35),
           part("nvidia_h100_80gb_hbm3_2g.20gb", "h100_2g.20gb", 20, 3, 70),
           part("nvidia_h100_80gb_hbm3_3g.40gb", "h100_3g.40gb", 40, 6, 140),
           whole("h100", "h100", 80, 4, 12, 280)},
          alliance_tiers(2 * kTB)};
}

KnownCluster narval() {
  return {"narval",
          Bundle{3.00, 31.1},
          {part("a100_1g.5gb", "a100_1g.5gb", 5, 1, 15), part("a100_2g.10gb", "a100_2g.10gb", 10, 3, 31),
           part("a100_3g.20gb", "a100_3g.20gb", 20, 6, 62), whole("a100", "a100", 40, 4, 12, 124)},
          alliance_tiers(kTB)};
}

// Over the soft limit, scratch takes nothing more after 60 days; nothing is removed.
std::vector<Tier> nibi_tiers() {
  std::vector<Tier> tiers = alliance_tiers(10 * kTB);
  for (Tier& tier : tiers) {
    if (tier.name == "home" || tier.name == "project") tier.snapshots = kTwoWeeks;
    if (tier.name == "scratch") {
      tier.space = kTB;
      tier.purge_days = 0;
    }
  }
  return tiers;
}

// Home and project are of the log-in side; jobs write to scratch.
std::vector<Tier> trillium_tiers() {
  Tier home{"home", "", "", false, 100 * kGB, 100 * kGB, kMillion, kMillion};
  Tier scratch{"scratch", "/scratch/%u", "SCRATCH", false, 25 * kTB, 25 * kTB, 10 * kMillion, 10 * kMillion};
  Tier project{"project", "/project/%g", "PROJECT", true, kTB, kTB, 2 * kMillion, 2 * kMillion};
  home.in_jobs = project.in_jobs = InJobs::kReadOnly;
  return {purposed(backed_up(with_snapshots(home, kDaily)), kForHome),
          purposed(linked(scratch, "links/scratch"), kForScratch),
          purposed(linked(backed_up(with_snapshots(project, kDaily)), "links/projects/%g"), kForProject),
          job_local("LOCAL_SCRATCH")};
}

// What members of an AI chair's group have. There are no backups yet.
std::vector<Tier> tamia_tiers() {
  constexpr uint64_t kGiB = uint64_t{1} << 30;
  Tier home{"home", "", "", false, 25 * kGiB, 25 * kGiB, 250 * kThousand, 250 * kThousand};
  Tier scratch{"scratch", "/scratch/%u", "SCRATCH", false, 2 * kTB, 2 * kTB, 0, 0};
  Tier project{"project", "/project/%g", "PROJECT", true, 5 * kTB, 5 * kTB, 0, 0};
  return {purposed(home, kForHome), purposed(linked(purged_after(scratch, 60), "scratch"), kForScratch),
          purposed(linked(project, "projects/%g"), kForProject), job_local("LOCAL_SCRATCH")};
}

KnownCluster nibi() {
  return {"nibi",
          Bundle{1.15, 20.5},
          {part("h100_1g.10gb", "h100_1g.10gb", 10, 2, 31), part("h100_2g.20gb", "h100_2g.20gb", 20, 4, 62),
           part("h100_3g.40gb", "h100_3g.40gb", 40, 7, 124), whole("h100", "h100", 80, 8, 14, 250)},
          nibi_tiers()};
}

KnownCluster rorqual() {
  return {"rorqual",
          Bundle{1.31, 10.2},
          {part("h100_1g.10gb", "h100_1g.10gb", 10, 2, 15), part("h100_2g.20gb", "h100_2g.20gb", 20, 4, 31),
           part("h100_3g.40gb", "h100_3g.40gb", 40, 8, 62), whole("h100", "h100", 80, 4, 16, 124)},
          alliance_tiers(kTB)};
}

KnownCluster trillium() {
  // Jobs there do not request memory: it comes with the GPUs.
  return {
      "trillium", Bundle{1.97, 15.4}, {one_or_all(whole("h100", "h100", 80, 4, 24, 0))}, trillium_tiers()};
}

KnownCluster tamia() {
  return {"tamia",
          std::nullopt,
          {whole_nodes(whole("h100", "", 80, 4, 12, 125)), whole_nodes(whole("h200", "", 141, 8, 8, 125))},
          tamia_tiers()};
}

KnownCluster killarney() {
  return {
      "killarney", std::nullopt, {whole("l40s", "", 48, 4, 16, 125), whole("h100", "", 80, 8, 6, 250)}, {}};
}

KnownCluster vulcan() {
  return {"vulcan", std::nullopt, {whole("l40s", "", 48, 4, 16, 125)}, {}};
}

KnownCluster mila() {
  return {"mila",
          std::nullopt,
          {whole("l40s", "", 48, 4, 12, 250), whole("a100l", "", 80, 4, 16, 248)},
          {purposed(backed_up(with_snapshots(
                        {"home", "", "", false, 100 * kGB, 100 * kGB, kMillion, kMillion}, kDaily)),
                    kForHome),
           purposed(
               purged_after({"scratch", "/network/scratch/%u", "SCRATCH", false, 5 * kTB, 5 * kTB, 0, 0}, 90),
               kForScratch),
           purposed(backed_up(with_snapshots(
                        {"project", "/network/projects/%g", "", true, kTB, kTB, kMillion, kMillion}, kDaily)),
                    kForProject),
           purposed({"archive", "/network/archive/%u", "ARCHIVE", false, 5 * kTB, 5100 * kGB, 0, 0},
                    kForNearline)}};
}

KnownCluster alex() {
  return {
      "alex",
      std::nullopt,
      {whole("a40", "", 48, 8, 16, 60), whole("a100", "", 40, 8, 16, 120),
       constrained(whole("a100", "", 80, 8, 16, 240), "a100_80")},
      {purposed(backed_up(with_snapshots(
                    {"home", "", "", false, 50 * kGB, 100 * kGB, 500 * kThousand, kMillion}, kOften)),
                kForHome),
       purposed(backed_up(with_snapshots({"vault", "/home/vault/%g/%u", "HPCVAULT", false, 500 * kGB, kTB,
                                          200 * kThousand, 400 * kThousand},
                                         kDailyAndWeekly)),
                kForVault),
       purposed({"work", "/home/woody/%g/%u", "WORK", false, kTB, 1500 * kGB, 5 * kMillion, 7500 * kThousand},
                kForWork),
       job_local("TMPDIR")}};
}

KnownCluster sharcnet() {
  return {"sharcnet",
          std::nullopt,
          {},
          {purposed(backed_up(with_snapshots({"home", "", "", false, 10 * kGB, 10 * kGB, 0, 0}, kDaily)),
                    kForHome),
           purposed({"work", "/work/%u", "WORK", false, kTB, kTB, kMillion, kMillion}, kForWork),
           purposed(purged_after({"scratch", "/scratch/%u", "SCRATCH", false, 0, 0, kMillion, kMillion}, 60),
                    kForScratch),
           purposed(of_node(purged_after({"tmp", "/tmp/%u", "", false, 0, 0, 0, 0}, 2)), kForNode)}};
}

}  // namespace

const std::vector<KnownCluster>& known_clusters() {
  static const std::vector<KnownCluster> all = {fir(),       narval(), nibi(), rorqual(), trillium(), tamia(),
                                                killarney(), vulcan(), mila(), alex(),    sharcnet()};
  return all;
}

const KnownCluster* find_cluster(std::string_view name) {
  for (const KnownCluster& cluster : known_clusters())
    if (cluster.name == name) return &cluster;
  return nullptr;
}

}  // namespace minke::clusters
