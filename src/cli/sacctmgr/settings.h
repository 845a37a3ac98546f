// Settings of associations and QOS: reads sacctmgr's words and prints Slurm's.
//
// Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "accounts/account_book.h"
#include "base/result.h"
#include "cli/sacctmgr/words.h"
#include "model/accounts.pb.h"

namespace minke::cli {

// Applies "cpu=10,mem=4G,gres/gpu=-1"; -1 removes a limit. Errors are Slurm's.
Status set_tres(google::protobuf::RepeatedPtrField<model::Tres>& limits, std::string_view value);
// Returns "cpu=10,mem=1000M,gres/gpu=5", by Slurm's numbers of the TRES.
std::string tres_text(const google::protobuf::RepeatedPtrField<model::Tres>& limits, bool by_name = false);
int tres_rank(std::string_view name);  // by those numbers; 8: it has no fixed number

// Returns whether the word is an association's own setting, and sets it. Fails on a malformed value.
Result<bool> set_association(model::AssociationRecord& record, const Word& word,
                             const accounts::AccountBook& book);
// Errors that a QOS has told in other words than an association: on standard output, as by Slurm; and of a
// value that is no number.
inline constexpr int kToldAsAnswer = 2, kBadNumber = 3;
Result<bool> set_qos(model::QosRecord& record, const Word& word, const accounts::AccountBook& book);

// Returns the settings of an association: "  Fairshare     = 5" and so on, one on each line.
std::string settings_text(const model::AssociationRecord& record);
std::string settings_text(const model::QosRecord& record);
std::string minutes_text(uint32_t minutes);  // 1-00:00:00

}  // namespace minke::cli
