// Merges answers of several messages: the lists of one kind of answer become one list. Pure.
#pragma once

#include <utility>

#include "rpc/messages.pb.h"

namespace minke::rpc {

// `more` follows `answer`. For kinds that report progress, the last one counts.
inline void merge_answer(ServerMessage& answer, ServerMessage&& more) {
  const bool goes_on =
      more.body_case() == ServerMessage::kWaitJob || more.body_case() == ServerMessage::kStep;
  if (answer.body_case() == more.body_case() && !goes_on) {
    answer.MergeFrom(more);
  } else {
    answer = std::move(more);
  }
}

}  // namespace minke::rpc
