#include "study/psc_name.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include <fmt/core.h>

namespace trainyard::study {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<std::int64_t> count_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1) return std::nullopt;
  return value;
}

bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
  });
}

bool is_date(std::string_view text) {
  return text.size() == 10 && text[4] == '-' && text[7] == '-' && count_of(text.substr(0, 4)) &&
         text.find_first_not_of("0123456789-") == std::string_view::npos;
}

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

}  // namespace

std::optional<PscName> parse_psc_name(std::string_view text) {
  constexpr std::size_t kDateEnd = 10;
  if (text.size() < kDateEnd + 2 || !is_date(text.substr(0, kDateEnd)) || text[kDateEnd] != '-')
    return std::nullopt;
  PscName name;
  name.date = text.substr(0, kDateEnd);
  std::string_view rest = text.substr(kDateEnd + 1);
  name.cpu = take_prefix(rest, "CPU-");
  name.says_gpu = !name.cpu && take_prefix(rest, "GPU-");
  name.separator = rest.find(':') == std::string_view::npos ? '_' : ':';

  const std::vector<std::string_view> parts = split(rest, name.separator);
  const std::size_t counted = name.cpu ? 2 : 1;
  if (parts.size() <= counted || !is_word(parts[0]) || !is_word(parts[counted - 1])) return std::nullopt;
  if (name.cpu) {
    name.partition = parts[0];
    name.model = parts[1];
  } else {
    name.gpu_type = parts[0];
  }
  const auto count = count_of(parts[counted]);
  if (!count) return std::nullopt;
  name.count = *count;
  std::size_t next = counted + 1;
  if (next < parts.size() && (name.batch = count_of(parts[next]))) ++next;
  if (next < parts.size() && (parts[next] == "local" || parts[next] == "scratch"))
    name.staging = parts[next++];
  if (next < parts.size() && !name.cpu && (parts[next] == "PS" || parts[next] == "IN"))
    name.variant = parts[next++];
  if (next != parts.size() || to_text(name) != text) return std::nullopt;
  return name;
}

std::string to_text(const PscName& name) {
  std::string text = name.date + (name.cpu ? "-CPU-" : name.says_gpu ? "-GPU-" : "-");
  const auto add = [&](const auto& part) { text += fmt::format("{}{}", name.separator, part); };
  text += name.cpu ? name.partition : name.gpu_type;
  if (name.cpu) add(name.model);
  add(name.count);
  if (name.batch) add(*name.batch);
  if (!name.staging.empty()) add(name.staging);
  if (!name.variant.empty()) add(name.variant);
  return text;
}

}  // namespace trainyard::study
