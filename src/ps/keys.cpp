#include "ps/keys.h"

#include <algorithm>

#include "base/error.h"

namespace trainyard::ps {
namespace {

// Keys begin at cache lines.
constexpr std::int64_t kAlignment = 64 / sizeof(float);

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

std::vector<Key> make_keys(std::int64_t elements, int servers, std::int64_t most_key_bytes) {
  TRAINYARD_CHECK(elements >= 0 && servers >= 1);
  const std::int64_t lines = divide_up(elements, kAlignment);
  const std::int64_t most_lines =
      std::max<std::int64_t>(1, most_key_bytes / static_cast<std::int64_t>(sizeof(float)) / kAlignment);
  // As many for every server; fewer where there are not enough lines for that.
  const std::int64_t count = std::min(lines, divide_up(lines, servers * most_lines) * servers);
  std::vector<Key> keys;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t first = lines * i / count * kAlignment;
    const std::int64_t end = std::min(lines * (i + 1) / count * kAlignment, elements);
    keys.push_back({first, end - first, static_cast<int>(i % servers)});
  }
  return keys;
}

}  // namespace trainyard::ps
