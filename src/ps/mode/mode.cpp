#include "ps/mode/mode.h"

#include <charconv>

#include "base/text.h"
#include "ps/mode/modes.h"

namespace trainyard::ps {

namespace {

std::string word_of(const ModeRow& row) {
  return row.takes_number ? fmt::format("{}:N", row.word) : row.word;
}

// Returns the number of "ssp:3"; nothing for text that is not the row's word with a number.
std::optional<int> number_in(const std::string& text, const ModeRow& row) {
  const std::string start = fmt::format("{}:", row.word);
  if (!text.starts_with(start)) return std::nullopt;
  int number = 0;
  const char *begin = text.data() + start.size(), *end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(begin, end, number);
  if (error != std::errc{} || stopped != end || number < 0) return std::nullopt;
  return number;
}

}  // namespace

std::span<const ModeRow> all_modes() { return kModes; }

std::optional<ModeName> find_mode(const std::string& text) {
  for (const ModeRow& row : kModes) {
    if (row.takes_number) {
      if (const std::optional<int> number = number_in(text, row))
        return ModeName{.row = &row, .number = *number};
    } else if (text == row.word || (row.also != nullptr && text == row.also)) {
      return ModeName{.row = &row};
    }
  }
  return std::nullopt;
}

ModeName ModeName::parse(const std::string& text) {
  if (const std::optional<ModeName> found = find_mode(text)) return *found;
  std::vector<std::string> words;
  for (const ModeRow& row : kModes) words.push_back(word_of(row) + (row.takes_number ? " with N >= 0" : ""));
  fail(ErrorKind::usage, "mode '{}' is not known; allowed are {}", text, joined(words, ", "));
}

std::string ModeName::to_string() const {
  return row->takes_number ? fmt::format("{}:{}", row->word, number) : row->word;
}

std::vector<std::string> mode_words() {
  std::vector<std::string> words;
  for (const ModeRow& row : kModes) words.push_back(word_of(row));
  return words;
}

std::string mode_help() {
  std::string text;
  for (const ModeRow& row : kModes) text += fmt::format("  {:<12} {}\n", word_of(row), row.help);
  return text;
}

std::unique_ptr<Mode> make_mode(const ModeName& name, Mode::Host& host, std::int64_t elements) {
  return name.row->make(name, host, elements);
}

void FreeRunning::join(int worker) {
  if (started_)
    host_.release(worker);
  else
    held_.push_back(worker);
}

void FreeRunning::start() {
  started_ = true;
  const std::deque<int> released = std::exchange(held_, {});
  for (const int worker : released) host_.release(worker);
}

void FreeRunning::leave(int worker) { std::erase(held_, worker); }

}  // namespace trainyard::ps
