#include "rpc/schema.h"

#include <gtest/gtest.h>

#include "api/job_filter.pb.h"
#include "model/job_spec.pb.h"
#include "model/job_state.pb.h"
#include "model/job_terms.pb.h"
#include "rpc/messages.pb.h"

namespace minke::rpc {
namespace {

// Fields that none of our messages has: a varint, a fixed64, a text and a fixed32 of high numbers.
const std::string kUnknown(
    "\xf8\x3e\x01\xf9\x3e"
    "12345678\xfa\x3e\x03"
    "abc\xfd\x3e"
    "1234",
    25);

ClientMessage submission() {
  ClientMessage message;
  message.set_request_id(7);
  api::SubmitRequest& submit = *message.mutable_submit();
  submit.set_key("0123456789abcdef");
  model::JobSpec& spec = *submit.mutable_spec();
  spec.set_name("name");
  spec.set_open_mode(model::OPEN_APPEND);
  spec.add_dependencies()->set_type(model::SINGLETON);
  spec.mutable_array()->add_ranges()->set_last(3);
  return message;
}

std::string known_part(const std::string& bytes) {
  std::string storage;
  const auto known = Schema::of_program().known_part("minke.rpc.ClientMessage", bytes, storage);
  EXPECT_TRUE(known) << known.error().message;
  return known ? std::string(*known) : "refused";
}

TEST(Schema, AMessageOfKnownFieldsIsNotCopied) {
  const std::string bytes = submission().SerializeAsString();
  std::string storage;
  const auto known = Schema::of_program().known_part("minke.rpc.ClientMessage", bytes, storage);
  ASSERT_TRUE(known) << known.error().message;
  EXPECT_EQ(known->data(), bytes.data());
  EXPECT_EQ(known->size(), bytes.size());
}

TEST(Schema, UnknownFieldsAreLeftOutAtAnyDepth) {
  const std::string clean = submission().SerializeAsString();
  ClientMessage message = submission();
  ASSERT_TRUE(message.MergeFromString(kUnknown));
  model::JobSpec& spec = *message.mutable_submit()->mutable_spec();
  ASSERT_TRUE(spec.MergeFromString(kUnknown));
  ASSERT_TRUE(spec.mutable_dependencies(0)->MergeFromString(kUnknown));
  ASSERT_TRUE(spec.mutable_array()->mutable_ranges(0)->MergeFromString(kUnknown));
  EXPECT_EQ(known_part(message.SerializeAsString()), clean);
}

TEST(Schema, AKnownNumberInAnotherFormIsUnknown) {
  const std::string clean = submission().SerializeAsString();
  ClientMessage message = submission();
  // name, and min_cpus, as fixed32; max_nodes as text; begin_time as fixed64.
  ASSERT_TRUE(
      message.mutable_submit()->mutable_spec()->MergeFromString(std::string("\x0d"
                                                                            "1234\x85\x03"
                                                                            "1234\xfa\x01\x01x\xb1\x01"
                                                                            "12345678",
                                                                            5 + 6 + 4 + 10)));
  EXPECT_EQ(known_part(message.SerializeAsString()), clean);
}

TEST(Schema, AValueThatNoEnumeratorHasIsRefused) {
  const auto refused = [](const ClientMessage& message) {
    std::string storage;
    return !Schema::of_program().known_part("minke.rpc.ClientMessage", message.SerializeAsString(), storage);
  };
  ClientMessage message = submission();
  EXPECT_FALSE(refused(message));
  message.mutable_submit()->mutable_spec()->set_open_mode(static_cast<model::OpenMode>(99));
  EXPECT_TRUE(refused(message));
  message = submission();
  message.mutable_submit()->mutable_spec()->mutable_dependencies(0)->set_type(
      static_cast<model::DependencyType>(-1));
  EXPECT_TRUE(refused(message));
  message.mutable_query_jobs()->mutable_filter()->add_states(model::JOB_REQUEUED);
  EXPECT_FALSE(refused(message));
  message.mutable_query_jobs()->mutable_filter()->add_states(static_cast<model::JobState>(77));
  EXPECT_TRUE(refused(message));
}

TEST(Schema, TextsAndMessagesArePartsAndEightNumbersAreOne) {
  const auto fits = [](const ClientMessage& message, size_t parts) {
    std::string storage;
    return Schema::of_program()
        .known_part("minke.rpc.ClientMessage", message.SerializeAsString(), storage, parts)
        .has_value();
  };
  ClientMessage message;
  api::JobFilter& filter = *message.mutable_query_jobs()->mutable_filter();  // two messages
  for (int i = 0; i < 98; ++i) filter.add_names("");
  EXPECT_TRUE(fits(message, 100));
  EXPECT_FALSE(fits(message, 99));
  filter.clear_names();
  for (int i = 0; i < 800; ++i) filter.add_uids(1);
  EXPECT_TRUE(fits(message, 104));
  EXPECT_FALSE(fits(message, 99));
}

TEST(Schema, WhatIsNoMessageIsRefused) {
  const std::string bytes = submission().SerializeAsString();
  std::string storage;
  const Schema& schema = Schema::of_program();
  for (const std::string& wrong : {bytes.substr(0, bytes.size() - 1), bytes + '\x07', bytes + '\0',
                                   bytes + "\x0c", bytes + "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"})
    EXPECT_FALSE(schema.known_part("minke.rpc.ClientMessage", wrong, storage));
  EXPECT_TRUE(schema.known_part("minke.rpc.ClientMessage", "", storage));
}

}  // namespace
}  // namespace minke::rpc
