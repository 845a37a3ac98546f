// The output of sdiag from the daemon's counters, in Slurm's layout: programs that watch clusters read it
// line by line. Pure.
#pragma once

#include <string>

#include "view/document/document.h"

namespace minke::api {
class DiagnosticsReply;
}  // namespace minke::api

namespace minke::view {

enum class RequestOrder { kByCount, kById, kByTotalTime, kByAverageTime };

std::string sdiag_report(const api::DiagnosticsReply& reply, RequestOrder order);
// Writes the "statistics" of the document.
void describe_diagnostics(Document& document, const api::DiagnosticsReply& reply);

}  // namespace minke::view
