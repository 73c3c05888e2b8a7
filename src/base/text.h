#pragma once

#include "base/standard.h"

// Text for people: lists, names with a spelling mistake, quantities. And patterns: std::regex is a template
// that every source which uses it would compile anew.
namespace trainyard {

// Returns the items as text, with the separator between them.
template <typename Items>
std::string joined(const Items& items, std::string_view separator) {
  std::string text;
  std::size_t done = 0;
  for (const auto& item : items) {
    if (done++ > 0) text += separator;
    text += fmt::format("{}", item);
  }
  return text;
}

// Pattern is a regular expression of ECMAScript. Safe to share between threads.
class Pattern {
 public:
  explicit Pattern(const std::string& expression);
  ~Pattern();
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

  // These return the text of each group, the first being what matched as a whole; empty: no match.
  std::vector<std::string> match(const std::string& text) const;  // all of the text
  std::vector<std::string> find(const std::string& text) const;   // the first place in it

 private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

// Returns the candidate with the smallest edit distance to `given`, or "" when none is close enough to
// suggest.
std::string nearest_name(std::string_view given, const std::vector<std::string>& candidates);

// " (did you mean 'resnet50'?)" or "".
std::string did_you_mean(std::string_view given, const std::vector<std::string>& candidates);

// Throws Error (usage) that names the setting, what is allowed and what was probably meant.
void want_one_of(std::string_view setting, const std::string& given, const std::vector<std::string>& allowed);

std::string format_bytes(std::int64_t bytes);  // "12.3 MiB"
std::string format_count(double count);        // "3.27 M"
std::string format_seconds(double seconds);    // "41.2 ms"
std::string format_flops(double flops);        // "8.17 GFLOP"
std::string format_rate(double per_second);    // "166 GFLOP/s"

}  // namespace trainyard
