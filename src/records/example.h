#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::records {

// tf.train.Example: lists by name, each of one kind. Views point into the message it was parsed from.
struct Feature {
  std::vector<std::string_view> bytes;
  std::vector<std::int64_t> ints;
  std::vector<float> floats;
};
using Example = std::map<std::string_view, Feature>;

// In the order of the names, so that the same example always has the same bytes.
std::string write_example(const Example& example);

// Nothing when the bytes are no such message. Fields it does not know are passed over, as protobuf wants it.
std::optional<Example> parse_example(std::string_view message);

}  // namespace trainyard::records
