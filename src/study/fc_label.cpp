#include "study/fc_label.h"

#include <charconv>
#include <utility>

namespace trainyard::study {
namespace {

constexpr std::pair<std::string_view, std::int64_t FcPoint::*> kKeys[] = {{"layer_", &FcPoint::layers},
                                                                          {"node_", &FcPoint::width},
                                                                          {"input_", &FcPoint::inputs},
                                                                          {"output_", &FcPoint::classes},
                                                                          {"bs_", &FcPoint::batch}};

// Takes "key_123" off the front.
bool take(std::string_view& text, FcPoint& point) {
  for (const auto& [key, member] : kKeys) {
    if (!text.starts_with(key) || point.*member != 0) continue;
    const char* begin = text.data() + key.size();
    const auto [end, problem] = std::from_chars(begin, text.data() + text.size(), point.*member);
    if (problem != std::errc() || point.*member <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
  }
  return false;
}

}  // namespace

std::optional<FcLabel> parse_fc_label(std::string_view label) {
  FcLabel found;
  for (std::size_t keys = 0; keys < std::size(kKeys); ++keys) {
    if (keys > 0 && !label.starts_with('-')) return std::nullopt;
    if (keys > 0) label.remove_prefix(1);
    if (!take(label, found.point)) return std::nullopt;
  }
  if (!label.empty() && !label.starts_with('-')) return std::nullopt;
  if (!label.empty()) found.rest = label.substr(1);
  return found;
}

}  // namespace trainyard::study
