// The accounts of a cluster as a book that answers questions. Blocking; one thread.
#pragma once

#include "accounts/account_book.h"
#include "base/result.h"

namespace minke::api {
class AccountsReply;
}  // namespace minke::api

namespace minke::engine {

Result<accounts::AccountBook> account_book_of(const api::AccountsReply& reply);

}  // namespace minke::engine
