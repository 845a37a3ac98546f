// Answers a request that may be answered: reads its parameters, calls the function of its route with an
// engine, and gives errors the form of their pages. The last step of a personal portal, and all that a worker
// of a shared one does. Blocking; a worker's thread.
#pragma once

#include <string>

#include "base/result.h"
#include "portal/message.h"
#include "portal/routes.h"

namespace minke::portal {

class Desk;

// In the environment of a worker: it answers nothing but public pages, whoever asks.
inline constexpr char kPublicVariable[] = "MINKE_PORTAL_PUBLIC";

bool is_api(const Request& request);

// "POST /api/v1/jobs/12/cancel"; empty: it changed nothing, as a test of a script.
std::string change_in_words(const Request& request, const Reply& reply);

// For an address that is in no table.
Reply reply_without_route(const Request& request, const Match& match);
// An error in the form of this route's pages.
Reply failed_reply(const Match& match, unsigned status, const Error& error);

Reply reply_to(const Request& request, const Match& match, const Result<engine::Engine*>& cluster,
               Desk& desk);

}  // namespace minke::portal
