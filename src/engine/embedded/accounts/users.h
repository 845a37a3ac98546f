// What the system knows of users, and of processes that own steps or allocations. Name service look-ups
// block; State caches the results. Any thread.
#pragma once

#include <google/protobuf/repeated_ptr_field.h>

#include <cstdint>
#include <string>

#include "engine/embedded/state/job.h"

namespace minke::engine {

std::string user_name_of(uint32_t uid);  // the number if there is no name
std::string group_name_of(uint32_t gid);
std::string home_directory_of(uint32_t uid);  // "/" if unknown
std::string login_shell_of(uint32_t uid);     // "/bin/sh" if unknown
bool is_in_group(uint32_t uid, const google::protobuf::RepeatedPtrField<std::string>& groups);  // of any

Owner owner_of_process(int32_t pid);  // pid 0 if it is gone
bool owner_is_alive(const Owner& owner);
// While /proc cannot be read, both functions return false.
bool owner_has_ended(const Owner& owner);
std::string format_owner(const Owner& owner);
Owner parse_owner(const std::string& text);

}  // namespace minke::engine
