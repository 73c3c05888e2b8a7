#pragma once

#include "base/standard.h"

// Small work on text. What it calls (std::regex) is a template that every source which uses it would compile
// anew.
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

}  // namespace trainyard
