#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "study/fc_counts.h"

namespace trainyard::study {

// "layer_4-node_512-input_2000-output_1000-bs_64", and what stands behind it: "-output fusion".
struct FcLabel {
  FcPoint point;
  std::string rest;  // without its dash; "" when there is none
};

// Nothing when the text is no such label: a key is missing, twice there or unknown, a number is not one.
std::optional<FcLabel> parse_fc_label(std::string_view label);

}  // namespace trainyard::study
