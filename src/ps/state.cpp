#include "ps/state.h"

#include <algorithm>

#include "base/error.h"

namespace trainyard::ps {

std::vector<float> part_of(std::span<const float> array, const std::vector<Key>& keys, int server) {
  std::vector<float> part;
  for (const Key& key : keys)
    if (key.server == server) part.insert(part.end(), array.begin() + key.first, array.begin() + key.end());
  return part;
}

void put_part(std::span<const float> part, const std::vector<Key>& keys, int server, std::span<float> array) {
  auto from = part.begin();
  for (const Key& key : keys) {
    if (key.server != server) continue;
    TRAINYARD_CHECK(part.end() - from >= key.elements);
    std::copy(from, from + key.elements, array.begin() + key.first);
    from += key.elements;
  }
}

}  // namespace trainyard::ps
