// What the system knows of users and of processes that own something here. Blocking look-ups of the name
// service: results are kept by State. Any thread.
#pragma once

#include <google/protobuf/repeated_ptr_field.h>

#include <cstdint>
#include <string>

#include "engine/embedded/state/job.h"

namespace minke::engine {

std::string user_name_of(uint32_t uid);  // the number where there is no name
std::string group_name_of(uint32_t gid);
std::string home_directory_of(uint32_t uid);  // "/" where none is known
std::string login_shell_of(uint32_t uid);     // "/bin/sh" where none is known
bool is_in_group(uint32_t uid, const google::protobuf::RepeatedPtrField<std::string>& groups);  // any of them

Owner owner_of_process(int32_t pid);  // pid 0 where it is gone
bool owner_is_alive(const Owner& owner);
// Neither of the two holds where /proc cannot be read just now.
bool owner_has_ended(const Owner& owner);
std::string format_owner(const Owner& owner);
Owner parse_owner(const std::string& text);

}  // namespace minke::engine
