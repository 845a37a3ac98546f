// The functions of page_routes(): runs side by side, accounts, storage, and what was. See routes.h.
#pragma once

#include "portal/routes.h"

namespace minke::portal {

Result<Reply> rank_runs(Call& call);
Result<Reply> compare_runs(Call& call);

Result<Reply> show_usage(Call& call);
Result<Reply> show_share_tree(Call& call);
Result<Reply> show_waste(Call& call);
Result<Reply> show_levels(Call& call);

Result<Reply> show_owners(Call& call);
Result<Reply> show_purges(Call& call);
Result<Reply> show_snapshots(Call& call);
Result<Reply> list_files(Call& call);
Result<Reply> list_versions(Call& call);
Result<Reply> restore_file(Call& call);

Result<Reply> show_messages(Call& call);
Result<Reply> show_failures(Call& call);
Result<Reply> show_footprint(Call& call);
Result<Reply> show_job_footprint(Call& call);
Result<Reply> show_timeline(Call& call);
Result<Reply> show_held(Call& call);
Result<Reply> show_waits(Call& call);
Result<Reply> list_reservations(Call& call);
Result<Reply> show_price(Call& call);
Result<Reply> show_forecast(Call& call);

Result<Reply> list_templates(Call& call);
Result<Reply> keep_template(Call& call);
Result<Reply> remove_template(Call& call);

Result<Reply> show_rights(Call& call);
Result<Reply> show_top(Call& call);
Result<Reply> list_node_events(Call& call);
Result<Reply> list_limits(Call& call);
Result<Reply> list_notes(Call& call);
Result<Reply> write_note(Call& call);
Result<Reply> show_log(Call& call);

}  // namespace minke::portal
