#include "meter/mpstat.h"

#include <charconv>

#include "base/error.h"
#include "meter/system_files.h"

namespace trainyard::meter {
namespace {

constexpr double kDay = 86'400, kHalfDay = 43'200;

std::optional<double> number(std::string_view word) {
  std::string text(word);
  std::replace(text.begin(), text.end(), ',', '.');
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Takes "10:15:23", with or without AM or PM behind it, off the front of `words`.
std::optional<double> take_time(std::vector<std::string_view>& words) {
  if (words.empty() || words[0].size() != 8 || words[0][2] != ':' || words[0][5] != ':') return std::nullopt;
  double parts[3];
  for (int i = 0; i < 3; ++i) {
    const auto part = number(words[0].substr(static_cast<std::size_t>(3 * i), 2));
    if (!part) return std::nullopt;
    parts[i] = *part;
  }
  double seconds = 3600 * parts[0] + 60 * parts[1] + parts[2];
  words.erase(words.begin());
  if (!words.empty() && (words[0] == "AM" || words[0] == "PM")) {
    if (seconds >= kHalfDay) seconds -= kHalfDay;  // 12:30 AM is half an hour past midnight
    if (words[0] == "PM") seconds += kHalfDay;
    words.erase(words.begin());
  }
  return seconds;
}

class Reader {
 public:
  void line(std::string_view text) {
    std::vector<std::string_view> words = split_words(text);
    const std::optional<double> time = take_time(words);
    if (!time || words.size() < 2) return end_block();  // blank, the head of the file, averages at its end
    if (words[0] == "CPU") {
      end_block();
      const auto column = [&](const char* name) {
        return static_cast<std::size_t>(std::find(words.begin(), words.end(), name) - words.begin());
      };
      user_column_ = column("%usr");
      idle_column_ = column("%idle");
      width_ = words.size();
      return;
    }
    if (words[0] == "all") {
      end_block();
      begin(*time);
      return;
    }
    add_core(words);
  }

  MpstatLog finish() {
    end_block();
    return std::move(log_);
  }

 private:
  void begin(double time) {
    open_ = true;
    cut_ = false;
    block_ = {};
    double passed = last_time_ ? time - *last_time_ : 0;
    if (passed < 0) passed += kDay;
    seconds_ += passed;
    last_time_ = time;
    block_.seconds = seconds_;
  }

  void add_core(const std::vector<std::string_view>& words) {
    if (!open_) return;
    const auto at = [&](std::size_t column) {
      return column < words.size() ? number(words[column]) : std::nullopt;
    };
    const auto user = at(user_column_), idle = at(idle_column_);
    if (words.size() != width_ || !user || !idle) {
      cut_ = true;
      return;
    }
    block_.user.push_back(*user);
    block_.busy.push_back(100 - *idle);
  }

  void end_block() {
    if (!open_) return;
    open_ = false;
    const bool other = !log_.blocks.empty() && static_cast<int>(block_.user.size()) != log_.cores();
    if (cut_ || other || block_.user.empty())
      ++log_.dropped;
    else
      log_.blocks.push_back(std::move(block_));
  }

  MpstatLog log_;
  MpstatLog::Block block_;
  bool open_ = false, cut_ = false;
  std::size_t user_column_ = 1, idle_column_ = 10, width_ = 11;
  std::optional<double> last_time_;
  double seconds_ = 0;
};

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

MpstatLog parse_mpstat(std::string_view text) {
  Reader reader;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    reader.line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  MpstatLog log = reader.finish();
  if (log.blocks.empty()) fail(ErrorKind::config, "no block of what `mpstat -P ALL` prints");
  const double first = log.blocks.front().seconds;  // blocks before it may have been cut
  for (MpstatLog::Block& block : log.blocks) block.seconds -= first;
  return log;
}

double integrate_use(const MpstatLog& log, CpuPart part) {
  const auto level = [&](std::size_t i) {
    return mean(part == CpuPart::user ? log.blocks[i].user : log.blocks[i].busy);
  };
  double sum = 0;
  for (std::size_t i = 1; i < log.blocks.size(); ++i)
    sum += (level(i - 1) + level(i)) / 2 * (log.blocks[i].seconds - log.blocks[i - 1].seconds);
  return sum;
}

}  // namespace trainyard::meter
