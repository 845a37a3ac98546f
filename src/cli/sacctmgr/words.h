// The words of sacctmgr's commands: conditions and settings, NAME=VALUE with abbreviated names, and limits.
//
// Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/accounts.pb.h"
#include "sched/account_book.h"

namespace minke::cli {

struct Word {
  std::string name;  // lower case, in full: "maxjobs"; empty: a name alone
  std::string value;
  char sign = '=';   // '+' and '-': += and -=
  std::string text;  // as given
};

struct Words {
  std::vector<Word> where;
  std::vector<Word> set;
};
// Splits what stands behind the entity at "where" and "set". `modify`: names alone in front of "set" are
// conditions; else all that stands before is both, and `where` has it.
Words split_words(std::span<char* const> words);

// The value of the condition `name`, a list; empty: not given.
std::vector<std::string> list_of(std::span<const Word> words, std::string_view name);
std::vector<std::string> lower_list(std::string_view value);

// "cpu=10,mem=4G,gres/gpu=-1" onto what is there; -1 takes a limit away. Errors are Slurm's.
Status set_tres(google::protobuf::RepeatedPtrField<model::Tres>& limits, std::string_view value);
// "cpu=10,mem=1000M,gres/gpu=5", by Slurm's numbers of the TRES.
std::string tres_text(const google::protobuf::RepeatedPtrField<model::Tres>& limits, bool by_name = false);

// Whether the word is one of an association's own settings, and done. Errors: a value that is none.
Result<bool> set_association(model::AssociationRecord& record, const Word& word,
                             const sched::AccountBook& book);
Result<bool> set_qos(model::QosRecord& record, const Word& word, const sched::AccountBook& book);

// Of an association: "  Fairshare     = 5" and so on, a line each, for what is set.
std::string settings_text(const model::AssociationRecord& record);
std::string settings_text(const model::QosRecord& record);
std::string minutes_text(uint32_t minutes);  // 1-00:00:00

}  // namespace minke::cli
