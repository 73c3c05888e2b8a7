#pragma once

#include "record/run_record.h"
#include "record/value.h"

namespace trainyard::study {

// FcPoint is a fully connected network of ParaDnn or of its PyTorch re-make, and the batch of a step.
struct FcPoint {
  std::int64_t layers = 0, width = 0, inputs = 0, classes = 0, batch = 0;

  record::Settings settings() const;  // under the names that our own runs have
};

// FcCounts is the true work of one training step of such a network. This folder does not depend on networks,
// so the closed forms for published points stand here.
struct FcCounts {
  double parameters = 0;      // biases included
  double flops_per_step = 0;  // of the matrix products that run: the input needs no gradient
  double bytes_per_step = 0;  // that have to move: operands of every product, activations, optimizer state
};

// `hidden` matrices width x width stand between those of the input and of the output: layers - 1 in ParaDnn,
// layers in the re-make. Elements have 4 bytes, and each parameter seven moves for RMSProp with momentum and
// Adam.
FcCounts count_fc(const FcPoint& point, std::int64_t hidden);

// FcLabel is "layer_4-node_512-input_2000-output_1000-bs_64", and the rest behind it: "-output fusion".
struct FcLabel {
  FcPoint point;
  std::string rest;  // without its dash; "" when there is none
};

// Returns nothing for text that is no such label: a key is missing, duplicate or unknown, or a number is not
// one.
std::optional<FcLabel> parse_fc_label(std::string_view label);

// Recognises the JSON files of parallel arrays that ParaDnn published (github.com/Emma926/paradnn): sweeps
// (gpu_fc, tpu_fc), traces and their breakdown by category of ops.
bool is_paradnn(std::string_view text);

// Makes one record for each label, also for those that ended badly. Throws Error (config) naming the file,
// and the byte where it is no JSON or the row whose label or number is damaged.
std::vector<record::RunRecord> import_paradnn(const std::string& file, std::string_view text);

}  // namespace trainyard::study
