// Settings of associations and QOS, read from sacctmgr's words and told in Slurm's.
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

// "cpu=10,mem=4G,gres/gpu=-1" onto what is there; -1 takes a limit away. Errors are Slurm's.
Status set_tres(google::protobuf::RepeatedPtrField<model::Tres>& limits, std::string_view value);
// "cpu=10,mem=1000M,gres/gpu=5", by Slurm's numbers of the TRES.
std::string tres_text(const google::protobuf::RepeatedPtrField<model::Tres>& limits, bool by_name = false);
int tres_rank(std::string_view name);  // by those numbers; 8: one that has no fixed number

// Whether the word is one of an association's own settings, and done. Fails on a malformed value.
Result<bool> set_association(model::AssociationRecord& record, const Word& word,
                             const accounts::AccountBook& book);
Result<bool> set_qos(model::QosRecord& record, const Word& word, const accounts::AccountBook& book);

// Of an association: "  Fairshare     = 5" and so on, a line each, for what is set.
std::string settings_text(const model::AssociationRecord& record);
std::string settings_text(const model::QosRecord& record);
std::string minutes_text(uint32_t minutes);  // 1-00:00:00

}  // namespace minke::cli
