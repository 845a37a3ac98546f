#include "text/cron.h"

#include <algorithm>
#include <ctime>
#include <iterator>
#include <optional>

#include "text/number.h"

namespace minke::text {
namespace {

using Part = CronTimes::Part;

constexpr int kLongestWait = 9 * 366;  // days: from one 29 February to the next but one

struct Range {
  const char* name;
  int low, high;       // as documented
  int most;            // that is read; in fields that count from 0, `high` + 1 stands for 0
  int first_of_steps;  // of "*/2"
};
constexpr Range kRanges[] = {{"minute", 0, 59, 60, 0},
                             {"hour", 0, 23, 24, 0},
                             {"day of the month", 1, 31, 31, 1},
                             {"month", 1, 12, 12, 1},
                             {"day of the week", 0, 6, 7, 1}};
constexpr std::string_view kMonths[] = {"jan", "feb", "mar", "apr", "may", "jun",
                                        "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::string_view kWeekDays[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};

struct Word {
  std::string_view name;
  const char* fields;
};
constexpr Word kWords[] = {{"@yearly", "0 0 1 1 *"},    {"@annually", "0 0 1 1 *"},
                           {"@monthly", "0 0 1 * *"},   {"@weekly", "0 0 * * 0"},
                           {"@daily", "0 0 * * *"},     {"@midnight", "0 0 * * *"},
                           {"@hourly", "0 0-23 * * *"}, {"@elevenses", "0 11 * * *"},
                           {"@fika", "0 15 * * *"},     {"@teatime", "0 16 * * *"}};

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

template <size_t N>
int place_in(const std::string_view (&names)[N], std::string_view name) {
  const auto found = std::find_if(std::begin(names), std::end(names),
                                  [&](std::string_view one) { return equals_ignoring_case(one, name); });
  return found == std::end(names) ? -1 : static_cast<int>(found - std::begin(names));
}

// A name stands alone in its field.
std::optional<int> named_value(Part part, std::string_view text) {
  const int place = part == CronTimes::kMonth     ? place_in(kMonths, text) + 1
                    : part == CronTimes::kWeekDay ? place_in(kWeekDays, text)
                                                  : -1;
  const int least = part == CronTimes::kMonth ? 1 : 0;
  return place < least ? std::nullopt : std::optional(place);
}

// One term of a list: "5", "1-5", "0-20/5".
bool read_term(const Range& range, std::string_view term, uint64_t& values) {
  std::optional<uint64_t> step = 1;
  if (const size_t slash = term.find('/'); slash != std::string_view::npos) {
    if (term.find('-') == std::string_view::npos) return false;
    step = parse_unsigned(term.substr(slash + 1), static_cast<uint64_t>(range.most));
    term = term.substr(0, slash);
  }
  const size_t dash = term.find('-');
  const auto most = static_cast<uint64_t>(range.most);
  const auto first = parse_unsigned(term.substr(0, dash), most);
  const auto last = dash == std::string_view::npos ? first : parse_unsigned(term.substr(dash + 1), most);
  if (!first || !last || !step || *step == 0 || *last < *first) return false;
  if (*last < static_cast<uint64_t>(range.low) ||
      (dash == std::string_view::npos && *first < static_cast<uint64_t>(range.low)))
    return false;
  for (uint64_t value = *first; value <= *last; value += *step)
    if (value >= static_cast<uint64_t>(range.low))
      values |= uint64_t{1} << (static_cast<int>(value) > range.high ? 0 : value);
  return true;
}

bool read_field(Part part, std::string_view text, CronTimes::Field& field) {
  const Range& range = kRanges[part];
  const auto all = [&](int first, int step) {
    for (int value = first; value < first + range.high - range.low + 1; value += step)
      field.values |= uint64_t{1} << (value > range.high ? 0 : value);
  };
  if (text == "*") {
    field.any = true;
    all(range.low, 1);
    return true;
  }
  if (text.starts_with("*/")) {
    const auto step = parse_unsigned(text.substr(2), static_cast<uint64_t>(range.most));
    if (!step || *step == 0) return false;
    all(range.first_of_steps, static_cast<int>(*step));
    return true;
  }
  if (const auto named = named_value(part, text)) {
    field.values = uint64_t{1} << *named;
    return true;
  }
  for (const std::string_view term : split(text, ','))
    if (!read_term(range, term, field.values)) return false;
  return field.values != 0;
}

// Whether some month has one of its days.
bool has_days(const CronTimes& times) {
  constexpr int kDays[] = {0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  for (int month = 1; month <= 12; ++month)
    for (int day = 1; times.fields[CronTimes::kMonth].has(month) && day <= kDays[month]; ++day)
      if (times.fields[CronTimes::kDay].has(day)) return true;
  return false;
}

void append_values(const CronTimes::Field& field, std::string& out) {
  if (field.any) {
    out += '*';
    return;
  }
  bool first = true;
  for (int value = 0; value < 64; ++value) {
    if (!field.has(value)) continue;
    int last = value;
    while (last < 63 && field.has(last + 1)) ++last;
    if (!first) out += ',';
    first = false;
    out += std::to_string(value);
    if (last > value) out += '-' + std::to_string(last);
    value = last;
  }
}

bool fits_day(const CronTimes& times, const std::tm& day) {
  const auto& [minute, hour, month_day, month, week_day] = times.fields;
  if (!month.has(day.tm_mon + 1)) return false;
  if (month_day.any) return week_day.any || week_day.has(day.tm_wday);
  if (week_day.any) return month_day.has(day.tm_mday);
  return month_day.has(day.tm_mday) || week_day.has(day.tm_wday);
}

// The first fitting minute of a day, from `minute_of_day` on, that is later than `after`.
int64_t first_of_day(const CronTimes& times, const std::tm& day, int minute_of_day, int64_t after) {
  for (int minute = minute_of_day; minute < 24 * 60; ++minute) {
    if (!times.fields[CronTimes::kHour].has(minute / 60)) {
      minute = (minute / 60 + 1) * 60 - 1;
      continue;
    }
    if (!times.fields[CronTimes::kMinute].has(minute % 60)) continue;
    std::tm moment = day;
    moment.tm_hour = minute / 60;
    moment.tm_min = minute % 60;
    moment.tm_sec = 0;
    moment.tm_isdst = -1;
    const std::time_t time = std::mktime(&moment);
    const bool exists = moment.tm_hour == minute / 60 && moment.tm_min == minute % 60;
    if (exists && time > after) return time;
  }
  return 0;
}

}  // namespace

Result<CronLine> read_cron_times(std::string_view line) {
  CronLine out;
  size_t at = 0;
  const auto next_word = [&] {
    while (at < line.size() && is_blank(line[at])) ++at;
    const size_t begin = at;
    while (at < line.size() && !is_blank(line[at])) ++at;
    return line.substr(begin, at - begin);
  };
  if (const size_t first = line.find_first_not_of(" \t");
      first != std::string_view::npos && line[first] == '@') {
    const std::string_view name = next_word();
    const auto word = std::find_if(std::begin(kWords), std::end(kWords),
                                   [&](const Word& one) { return equals_ignoring_case(one.name, name); });
    if (word == std::end(kWords))
      return failure(
          "\"" + std::string(name) +
          "\" is none of @yearly, @monthly, @weekly, @daily, @hourly, @elevenses, @fika, @teatime");
    out.times = read_cron_times(word->fields)->times;
    out.length = at;
    return out;
  }
  for (const Part part :
       {CronTimes::kMinute, CronTimes::kHour, CronTimes::kDay, CronTimes::kMonth, CronTimes::kWeekDay}) {
    const Range& range = kRanges[part];
    const std::string_view word = next_word();
    if (word.empty())
      return failure("five fields say when: minute, hour, day of the month, month, day of the week");
    if (!read_field(part, word, out.times.fields[part]))
      return failure("\"" + std::string(word) + "\" is no " + range.name + ": *, numbers from " +
                     std::to_string(range.low) + " to " + std::to_string(range.high) +
                     ", ranges, lists, steps");
  }
  if (!has_days(out.times)) return failure("no month has that day");
  out.length = at;
  return out;
}

std::string format_cron_times(const CronTimes& times) {
  std::string out;
  for (const CronTimes::Field& field : times.fields) {
    if (!out.empty()) out += ' ';
    append_values(field, out);
  }
  return out;
}

int64_t next_cron_time(const CronTimes& times, int64_t after) {
  const std::time_t begin = static_cast<std::time_t>(after - after % 60 + 60);
  std::tm day{};
  localtime_r(&begin, &day);
  int minute_of_day = day.tm_hour * 60 + day.tm_min;
  for (int count = 0; count < kLongestWait; ++count) {
    // Noon is in every day, whatever the clock does.
    day.tm_hour = 12;
    day.tm_min = day.tm_sec = 0;
    day.tm_isdst = -1;
    if (std::mktime(&day) == -1) return 0;
    if (fits_day(times, day))
      if (const int64_t time = first_of_day(times, day, minute_of_day, after); time != 0) return time;
    minute_of_day = 0;
    ++day.tm_mday;
  }
  return 0;
}

}  // namespace minke::text
