#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "record/run_record.h"
#include "record/value.h"

namespace trainyard::study {

// A fully connected network of ParaDnn or of its PyTorch re-make, and the batch of a step.
struct FcPoint {
  std::int64_t layers = 0, width = 0, inputs = 0, classes = 0, batch = 0;

  record::Settings settings() const;  // under the names that our own runs have
};

// What one training step of such a network really does. A study does not see networks, so that published
// points have their closed forms here.
struct FcCounts {
  double parameters = 0;      // biases included
  double flops_per_step = 0;  // of the matrix products that run: the input needs no gradient
  double bytes_per_step = 0;  // that have to move: operands of every product, activations, optimizer state
};

// `hidden` matrices width x width stand between those of the input and of the output: layers - 1 in ParaDnn,
// layers in the re-make. Elements of 4 bytes, and seven moves a parameter for RMSProp with momentum and Adam.
FcCounts count_fc(const FcPoint& point, std::int64_t hidden);

// "layer_4-node_512-input_2000-output_1000-bs_64", and what stands behind it: "-output fusion".
struct FcLabel {
  FcPoint point;
  std::string rest;  // without its dash; "" when there is none
};

// Nothing when the text is no such label: a key is missing, twice there or unknown, a number is not one.
std::optional<FcLabel> parse_fc_label(std::string_view label);

// The JSON files of parallel arrays that ParaDnn published (github.com/Emma926/paradnn): sweeps (gpu_fc,
// tpu_fc), traces and their breakdown by category of ops.
bool is_paradnn(std::string_view text);

// One record a label, those that ended badly too. Error (config) names the file, and the byte where it is no
// JSON or the row whose label or number is damaged.
std::vector<record::RunRecord> import_paradnn(const std::string& file, std::string_view text);

}  // namespace trainyard::study
