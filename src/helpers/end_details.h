// What is known of a job's end beside its record: the end of its output, and what to do next. Reads the
// output with its user's rights; blocking; for programs of one thread.
#pragma once

#include "view/why.h"

namespace minke::api {
class AccountedJob;
}  // namespace minke::api

namespace minke::helpers {

// Of a job that ended well there are no lines. A file that cannot be read is left out.
view::EndedDetails details_of_end(const api::AccountedJob& accounted);

}  // namespace minke::helpers
