#include "engine/fetch_accounts.h"

#include "api/accounts.pb.h"

namespace minke::engine {

Result<accounts::AccountBook> account_book_of(const api::AccountsReply& reply) {
  accounts::AccountsChange all;
  all.accounts.assign(reply.accounts().begin(), reply.accounts().end());
  all.users.assign(reply.users().begin(), reply.users().end());
  all.associations.assign(reply.associations().begin(), reply.associations().end());
  all.qos.assign(reply.qos().begin(), reply.qos().end());
  all.associations.insert(all.associations.end(), reply.foreign_associations().begin(),
                          reply.foreign_associations().end());
  all.clusters.assign(reply.clusters().begin(), reply.clusters().end());
  all.federations.assign(reply.federations().begin(), reply.federations().end());
  all.resources.assign(reply.resources().begin(), reply.resources().end());
  accounts::AccountBook book;
  if (const Status applied = book.apply(all); !applied) return failure(applied.error());
  book.set_version(reply.version());
  return book;
}

}  // namespace minke::engine
