#include "networks/layers/expression.h"

#include <charconv>

#include "base/error.h"
#include "base/text.h"

namespace trainyard::networks::layers {
namespace {

bool is_name_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

const std::string& value_of(std::string_view name, const Variables& variables) {
  if (const auto found = variables.find(name); found != variables.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, value] : variables) names.push_back(known);
  fail(ErrorKind::config, "there is no parameter '${}'{}", name, did_you_mean(name, names));
}

// Reads the text from its beginning to its end; each function takes what it is named after.
class Reader {
 public:
  Reader(std::string_view text, const Variables& variables) : text_(text), variables_(variables) {}

  double whole_text() {
    const double value = sum();
    if (at_ != text_.size()) refuse();
    return value;
  }

 private:
  double sum() {
    double value = product();
    for (char sign = next(); sign == '+' || sign == '-'; sign = next()) {
      ++at_;
      const double term = product();
      value += sign == '+' ? term : -term;
    }
    return value;
  }

  double product() {
    double value = factor();
    for (char sign = next(); sign == '*' || sign == '/'; sign = next()) {
      ++at_;
      const double other = factor();
      if (sign == '/' && other == 0) fail(ErrorKind::config, "'{}' divides by zero", text_);
      value = sign == '*' ? value * other : value / other;
    }
    return value;
  }

  double factor() {
    if (next() != '$') return number(text_.substr(at_), true);
    ++at_;
    return number(value_of(name(), variables_), false);
  }

  // Goes on behind the digits; what is behind those of a variable is a mistake.
  double number(std::string_view digits, bool goes_on) {
    double value = 0;
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (code != std::errc{} || !std::isfinite(value)) refuse();
    if (goes_on)
      at_ += static_cast<std::size_t>(end - digits.data());
    else if (end != digits.data() + digits.size())
      refuse();
    return value;
  }

  std::string_view name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_name_character(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  char next() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  [[noreturn]] void refuse() const {
    fail(ErrorKind::config, "'{}' is no number; numbers and $names with + - * / between them are", text_);
  }

  std::string_view text_;
  const Variables& variables_;
  std::size_t at_ = 0;
};

}  // namespace

double evaluate(std::string_view text, const Variables& variables) {
  return Reader(text, variables).whole_text();
}

std::string substituted(const std::string& text, const Variables& variables) {
  return text.starts_with('$') ? value_of(std::string_view(text).substr(1), variables) : text;
}

}  // namespace trainyard::networks::layers
