// The functions of app_routes(): interactive applications and their sessions. See routes.h.
#pragma once

#include "portal/routes.h"

namespace minke::portal {

Result<Reply> list_apps(Call& call);
Result<Reply> list_app_sessions(Call& call);
Result<Reply> start_app(Call& call);
Result<Reply> end_app_session(Call& call);

}  // namespace minke::portal
