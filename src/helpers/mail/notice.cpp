#include "helpers/mail/notice.h"

#include <fmt/format.h>

#include "helpers/mail/mime.h"
#include "model/mail.pb.h"

namespace minke::helpers {

Result<ReadyMail> compose_notice(const Notice& notice, const model::MailSettings& settings) {
  auto to = recipients(notice.to, settings.domain());
  if (!to) return failure(to.error());
  auto from = recipients(settings.from(), settings.domain());
  if (!from) return failure("from: " + from.error().message);
  ReadyMail ready;
  ready.from = from->front();
  ready.to = *to;
  ready.text = fmt::format(
      "Date: {}\r\nFrom: Minke <{}>\r\nTo: {}\r\nSubject: {}\r\nMessage-ID: <{}@{}>\r\n"
      "Auto-Submitted: auto-generated\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n"
      "Content-Transfer-Encoding: quoted-printable\r\n\r\n",
      header_date(notice.now), ready.from, fmt::join(ready.to, ", "), header_text(notice.subject),
      header_text(notice.id), header_text(notice.host));
  ready.text += quoted_printable(notice.body);
  ready.subject = header_text(notice.subject);
  ready.body = notice.body;
  return ready;
}

}  // namespace minke::helpers
