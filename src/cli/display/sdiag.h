// What sdiag prints of the daemon's counters, in Slurm's layout: programs that watch clusters read it line by
// line. Pure.
#pragma once

#include <string>

#include "cli/document/document.h"
#include "rpc/messages.pb.h"

namespace minke::cli {

enum class RequestOrder { kByCount, kById, kByTotalTime, kByAverageTime };

std::string sdiag_report(const rpc::DiagnosticsReply& reply, RequestOrder order);
// The "statistics" of the document.
void describe_diagnostics(Document& document, const rpc::DiagnosticsReply& reply);

}  // namespace minke::cli
