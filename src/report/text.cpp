#include "report/text.h"

#include <cctype>
#include <ctime>

#include <fmt/chrono.h>

namespace trainyard::report {

namespace {

std::string replace_all(std::string_view text, std::string_view what, std::string_view with) {
  std::string result;
  std::size_t from = 0;
  for (std::size_t at = 0; (at = text.find(what, from)) != std::string_view::npos; from = at + what.size()) {
    result += text.substr(from, at - from);
    result += with;
  }
  result += text.substr(from);
  return result;
}

// HTML does not care about the case of a tag.
bool is_script(std::string_view text) {
  constexpr std::string_view kTag = "script";
  return text.size() >= kTag.size() &&
         std::equal(kTag.begin(), kTag.end(), text.begin(),
                    [](char expected, char c) { return expected == (c | 0x20); });
}

}  // namespace

std::string address_of(const std::filesystem::path& path) {
  std::string address;
  for (const char c : path.generic_string()) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr("/._-~", c) != nullptr;
    address += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return address;
}

std::string html_text(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

// In JSON "<" can stand in strings only, where the escape means the same.
std::string json_in_script(std::string_view json) { return replace_all(json, "<", "\\u003c"); }

std::string program_in_script(std::string_view program) {
  // In a program these stand in strings, regular expressions and comments only; "\/" and "\!" mean "/" and
  // "!".
  std::string result = replace_all(program, "<!--", "<\\!--");
  for (std::size_t at = 0; (at = result.find("</", at)) != std::string::npos; at += 2)
    if (is_script(std::string_view(result).substr(at + 2))) result.insert(at + 1, 1, '\\');
  constexpr std::string_view kSourceMap = "//# sourceMappingURL=";
  if (const std::size_t at = result.rfind(kSourceMap); at != std::string::npos)
    result.erase(at, result.find('\n', at) - at);
  return result;
}

namespace {

// "-1234567" to "-1,234,567".
std::string grouped(std::string digits) {
  const std::size_t first = digits.starts_with('-') ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) digits.insert(at -= 3, 1, ',');
  return digits;
}

}  // namespace

std::string number_text(double number) {
  if (!std::isfinite(number)) return "-";
  const double size = std::abs(number);
  if (size >= 1e15) return fmt::format("{:.3g}", number);
  if (size < 100) return size == 0 ? "0" : fmt::format("{:.3g}", number);
  if (size < 999.95) return fmt::format("{:.1f}", number);
  return grouped(fmt::format("{:.0f}", number));
}

std::string percent_text(double share) {
  if (!std::isfinite(share)) return "-";
  return fmt::format("{:.{}f} %", share * 100, std::abs(share) < 0.1 ? 2 : 1);
}

std::string count_text(long long count, const std::string& noun) {
  return fmt::format("{} {}{}", grouped(fmt::format("{}", count)), noun, count == 1 ? "" : "s");
}

std::string spaced(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::string time_text(double seconds_since_1970) {
  return fmt::format("{:%Y-%m-%d %H:%M}", fmt::gmtime(static_cast<std::time_t>(seconds_since_1970)));
}

}  // namespace trainyard::report
