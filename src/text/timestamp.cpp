#include "text/timestamp.h"

#include <algorithm>
#include <ctime>
#include <optional>

#include "text/number.h"

namespace minke::text {
namespace {

constexpr int64_t kMaxOffset = 1'000'000'000'000;  // s; keeps sums and years within range

std::tm local(int64_t time) {
  std::time_t seconds = static_cast<std::time_t>(time);
  std::tm out{};
  localtime_r(&seconds, &out);
  return out;
}

// A cursor over the text, and the values that it has read so far.
class TimeReader {
 public:
  TimeReader(std::string_view text, int64_t now, bool past)
      : text_(text), now_(now), past_(past), today_(local(now)) {}

  std::optional<int64_t> read() {
    if (auto at = read_epoch()) return at;
    while (true) {
      skip_spaces();
      if (at_end()) break;
      if (date_seen_ || clock_seen_) at_ += before_word().value_or(0);
      if (date_seen_ && (peek_is_time_mark() || peek_is_dash())) {
        ++at_;
        continue;
      }
      if (!read_word() && !read_clock() && !read_date()) return std::nullopt;
      if (offset_seen_ && !at_end()) {
        skip_spaces();
        if (!at_end()) return std::nullopt;
      }
    }
    if (offset_seen_) return now_ + offset_;
    if (!date_seen_ && !clock_seen_) return std::nullopt;
    return combine();
  }
  // The position where reading failed: the beginning of the wrong part.
  size_t position() const { return std::max(at_, problem_); }

 private:
  bool at_end() const { return at_ >= text_.size(); }
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  void skip_spaces() {
    while (peek() == ' ' || peek() == '\t') ++at_;
  }
  bool peek_is_time_mark() const {
    return to_upper(peek()) == 'T' && (is_digit(peek(1)) || at_ + 1 == text_.size());
  }
  // "01/20-10:00", "2030-01-20-10:00": whether a dash between a day and its time comes next.
  bool peek_is_dash() const { return peek() == '-' && is_digit(peek(1)); }
  // "noon-tomorrow", "noontomorrow": the length up to the next word; nothing if none follows.
  std::optional<size_t> before_word() const {
    const size_t between = peek() == '-' ? 1 : 0;
    for (const std::string_view word :
         {"today", "tomorrow", "midnight", "noon", "fika", "teatime", "elevenses"})
      if (starts_with_ignoring_case(text_.substr(std::min(text_.size(), at_ + between)), word))
        return between;
    return std::nullopt;
  }
  bool take_word(std::string_view word) {
    if (!starts_with_ignoring_case(text_.substr(at_), word)) return false;
    at_ += word.size();
    return true;
  }
  // Reads at most `digits` digits.
  std::optional<int> take_number(size_t digits) {
    size_t count = 0;
    int value = 0;
    while (count < digits && is_digit(peek(count))) value = value * 10 + (peek(count++) - '0');
    if (count == 0) return std::nullopt;
    at_ += count;
    return value;
  }

  std::optional<int64_t> read_epoch() {
    if (!starts_with_ignoring_case(text_, "uts")) return std::nullopt;
    auto seconds = parse_unsigned(text_.substr(3), kMaxOffset);
    return seconds ? std::optional<int64_t>(static_cast<int64_t>(*seconds)) : std::nullopt;
  }

  bool set_date(int year, int month, int day) {  // month from 1
    if (date_seen_ || month < 1 || month > 12 || day < 1 || day > 31) return false;
    date_seen_ = true;
    year_ = year;
    month_ = month;
    day_ = day;
    return true;
  }
  bool set_clock(int hour, int minute, int second) {
    if (clock_seen_) return false;
    clock_seen_ = true;
    hour_ = hour;
    minute_ = minute;
    second_ = second;
    return true;
  }

  bool read_word() {
    size_t start = at_;
    bool good = false;
    if (take_word("today")) {
      good = set_date(today_.tm_year + 1900, today_.tm_mon + 1, today_.tm_mday);
    } else if (take_word("tomorrow")) {
      std::tm day = today_;
      ++day.tm_mday;
      day.tm_hour = 12;
      day.tm_isdst = -1;
      std::mktime(&day);
      good = set_date(day.tm_year + 1900, day.tm_mon + 1, day.tm_mday);
    } else if (take_word("midnight")) {
      good = set_clock(0, 0, 0);
    } else if (take_word("noon")) {
      good = set_clock(12, 0, 0);
    } else if (take_word("elevenses")) {
      good = set_clock(11, 0, 0);
    } else if (take_word("fika")) {
      good = set_clock(15, 0, 0);
    } else if (take_word("teatime")) {
      good = set_clock(16, 0, 0);
    } else if (take_word("now")) {
      good = !date_seen_ && !clock_seen_ && read_offset();
    }
    // A word ends where its letters end; only the T before a time of day may follow a day.
    if (good && std::isalpha(static_cast<unsigned char>(peek())) && !(date_seen_ && peek_is_time_mark()) &&
        !before_word()) {
      good = false;
    }
    if (!good) at_ = start;
    return good;
  }

  bool read_offset() {
    offset_seen_ = true;
    skip_spaces();
    int sign = peek() == '+' ? 1 : peek() == '-' ? -1 : 0;
    if (sign == 0) return true;
    ++at_;
    skip_spaces();
    size_t digits = 0;
    while (is_digit(peek(digits))) ++digits;
    auto count = parse_unsigned(text_.substr(at_, digits), kMaxOffset);
    problem_ = at_;
    if (!count) {
      if (problem_ > 0 && digits == 0 && at_end()) --problem_;
      return false;
    }
    at_ += digits;
    skip_spaces();
    int64_t unit = 1;
    static constexpr struct {
      std::string_view name;
      int64_t seconds;
    } kUnits[] = {{"second", 1}, {"minute", 60}, {"hour", 3600}, {"day", 86400}, {"week", 604800}};
    for (const auto& row : kUnits) {
      if (!take_word(row.name)) continue;
      unit = row.seconds;
      take_word("s");
      break;
    }
    if (static_cast<int64_t>(*count) > kMaxOffset / unit) return false;
    offset_ = sign * static_cast<int64_t>(*count) * unit;
    return true;
  }

  // Both leave the cursor unchanged if they fail.
  bool read_clock() {
    const size_t start = at_;
    if (take_clock()) return true;
    at_ = start;
    return false;
  }
  bool read_date() {
    const size_t start = at_;
    if (take_date()) return true;
    at_ = start;
    return false;
  }

  bool at_space_or_end() const { return at_end() || peek() == ' ' || peek() == '\t'; }

  // HH:MM[:SS] [AM|PM]
  bool take_clock() {
    auto hour = take_number(2);
    if (!hour || peek() != ':') return false;
    ++at_;
    if (*hour <= 23) problem_ = at_;
    const auto minute = take_number(2);
    if (!minute || *minute > 59) return false;
    if (*hour <= 23) problem_ = at_;
    std::optional<int> second = 0;
    if (peek() == ':') {
      ++at_;
      second = take_number(2);
      if (!second || *second > 59) return false;
    }
    if (!take_half_of_day(*hour) || *hour > 23) return false;
    if (!at_space_or_end() && !before_word()) return false;
    return set_clock(*hour, *minute, *second);
  }

  // Reads the optional "AM" or "PM". Returns false if the hour before it is not one of twelve.
  bool take_half_of_day(int& hour) {
    const size_t start = at_;
    skip_spaces();
    const bool morning = take_word("am");
    if (!morning && !take_word("pm")) {
      at_ = start;
      return true;
    }
    if (hour < 1 || hour > 12) return false;
    hour = hour % 12 + (morning ? 0 : 12);
    return true;
  }

  struct Day {
    std::optional<int> year, month, day;
  };

  // YYYY-MM-DD
  bool take_iso_day(Day& to) {
    to.year = take_number(4);
    ++at_;
    if (!is_digit(peek(1))) return false;
    to.month = take_number(2);
    if (peek() != '-' || !is_digit(peek(2))) return false;
    ++at_;
    to.day = take_number(2);
    return true;
  }

  // MM/DD[/YY], MM.DD[.YY]
  bool take_parted_day(Day& to) {
    to.month = take_number(2);
    const char separator = peek();
    const bool separates = separator == '/' || separator == '.';
    if (to.month && *to.month <= 12 && !separates) problem_ = at_;
    if (!to.month || !separates) return false;
    ++at_;
    to.day = take_number(2);
    if (!to.day || peek() != separator) return to.day.has_value();
    ++at_;
    to.year = take_number(2);
    if (!to.year) return false;
    *to.year += 2000;
    return true;
  }

  bool take_day(Day& to) {
    size_t digits = 0;
    while (is_digit(peek(digits))) ++digits;
    if (digits == 4 && peek(4) == '-') return take_iso_day(to);
    if (digits != 4 && digits != 6) return take_parted_day(to);
    to.month = take_number(2);  // MMDD[YY]
    to.day = take_number(2);
    if (digits == 6) to.year = 2000 + *take_number(2);
    return true;
  }

  // Returns the year of the next such day, or of the last one; today counts as either.
  int nearest_year(int month, int day) const {
    const int order = (month - (today_.tm_mon + 1)) * 100 + (day - today_.tm_mday);
    const int year = today_.tm_year + 1900;
    if (past_) return order > 0 ? year - 1 : year;
    return order < 0 ? year + 1 : year;
  }

  bool take_date() {
    Day found;
    if (!take_day(found) || !found.month || !found.day) return false;
    if (!at_space_or_end() && !peek_is_time_mark() && !peek_is_dash()) return false;
    const int year = found.year ? *found.year : nearest_year(*found.month, *found.day);
    return set_date(year, *found.month, *found.day);
  }

  std::optional<int64_t> combine() const {
    std::tm when{};
    when.tm_isdst = -1;
    when.tm_year = (date_seen_ ? year_ : today_.tm_year + 1900) - 1900;
    when.tm_mon = (date_seen_ ? month_ : today_.tm_mon + 1) - 1;
    when.tm_mday = date_seen_ ? day_ : today_.tm_mday;
    when.tm_hour = hour_;
    when.tm_min = minute_;
    when.tm_sec = second_;
    if (!date_seen_ && !past_) {
      int64_t clock = hour_ * 3600 + minute_ * 60 + second_;
      int64_t present = today_.tm_hour * 3600 + today_.tm_min * 60 + today_.tm_sec;
      if (clock < present) ++when.tm_mday;
    }
    std::time_t time = std::mktime(&when);
    if (time == static_cast<std::time_t>(-1)) return std::nullopt;
    return static_cast<int64_t>(time);
  }

  std::string_view text_;
  size_t at_ = 0;
  int64_t now_;
  bool past_;
  std::tm today_;
  size_t problem_ = 0;
  bool date_seen_ = false, clock_seen_ = false, offset_seen_ = false;
  int year_ = 0, month_ = 0, day_ = 0, hour_ = 0, minute_ = 0, second_ = 0;
  int64_t offset_ = 0;
};

std::string formatted(const std::tm& when, const std::string& format) {
  char buffer[256];
  size_t length = std::strftime(buffer, sizeof buffer, format.c_str(), &when);
  return std::string(buffer, length);
}

// Whole days from `from` to `to` in the calendar.
int64_t days_between(std::tm from, std::tm to) {
  auto noon = [](std::tm day) {
    std::tm out{};
    out.tm_year = day.tm_year;
    out.tm_mon = day.tm_mon;
    out.tm_mday = day.tm_mday;
    out.tm_hour = 12;
    return static_cast<int64_t>(timegm(&out));
  };
  return (noon(to) - noon(from)) / 86400;
}

std::string relative(const std::tm& when, int64_t now) {
  int64_t days = days_between(local(now), when);
  if (days == 0) return formatted(when, "%H:%M:%S");
  if (days == -1) return formatted(when, "Ystday %H:%M");
  if (days == 1) return formatted(when, "Tomorr %H:%M");
  if (days < -365 || days > 365) return formatted(when, "%-d %b %Y");
  if (days < -1 || days > 6) return formatted(when, "%-d %b %H:%M");
  return formatted(when, "%a %H:%M");
}

}  // namespace

Result<int64_t> parse_time(std::string_view text, int64_t now, bool past) {
  TimeReader reader(text, now, past);
  if (auto time = reader.read()) return *time;
  return failure("Invalid time specification (pos=" + std::to_string(reader.position()) +
                 "): " + std::string(text));
}

std::string format_time(int64_t time, std::string_view style, int64_t now) {
  return format_time_or(time, "Unknown", style, now);
}

std::string format_time_or(int64_t time, std::string_view unknown, std::string_view style, int64_t now) {
  if (time == 0) return std::string(unknown);
  std::tm when = local(time);
  if (style.empty() || style == "standard") return formatted(when, "%Y-%m-%dT%H:%M:%S");
  if (style == "relative") return relative(when, now);
  return formatted(when, std::string(style));
}

}  // namespace minke::text
