#pragma once

#include <cstdint>
#include <vector>

namespace trainyard::ps {

// A piece of the flat array of parameters: what one frame carries, and one server keeps.
struct Key {
  std::int64_t first = 0, elements = 0;
  int server = 0;

  std::int64_t end() const { return first + elements; }
  bool operator==(const Key&) const = default;
};

// Cuts an array of floats into pieces of nearly one length, at most `most_key_bytes` each, which take turns
// among the servers: every server has as many bytes as the others, and its part of every stretch of the
// array, so that all of them have work while a backward pass goes through it.
std::vector<Key> make_keys(std::int64_t elements, int servers, std::int64_t most_key_bytes = 128 << 10);

}  // namespace trainyard::ps
