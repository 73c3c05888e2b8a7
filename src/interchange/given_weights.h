#pragma once

#include "networks/zoo/network_files.h"

namespace trainyard::interchange {

// An OfferedWeight is a tensor that somebody trained, in any file.
struct OfferedWeight {
  std::string name, type;  // "f32", "f16", ...; of weights that are no floats "i64", ...
  std::vector<std::int64_t> dims;
  std::function<std::vector<double>()> numbers;  // in plain order

  bool is_float() const { return type.starts_with('f') || type.starts_with("bf"); }
  std::string to_string() const;  // "f32 64x3x7x7"
};

struct OfferedWeights {
  std::string from;  // the file, as the user named it
  // The tensors lie as our ops have them, as those of a checkpoint and of an ONNX file that was imported do;
  // else as others write them, which to a network of ours is the same, but not to one that is a file itself.
  bool arranged = false;
  std::vector<OfferedWeight> tensors;
};

// Error (config, unsupported) names the file, (usage) when its name says no format.
OfferedWeights read_offered_weights(const std::filesystem::path& file);

// WeightRules say what may differ between what is offered and the network.
struct WeightRules {
  bool new_head = false;  // the last layer starts from random numbers, whatever is offered
  bool partial = false;   // tensors that are missing or too many are no mistake
};

struct GivenWeights {
  std::shared_ptr<const networks::StartWeights> start;
  std::string note;  // for people, one line: what starts from where
};

// Matches the tensors to parameters and statistics of the network by name; "/" and "." are the same. The last
// layer starts afresh where its shapes differ. `network_file`: the network's, or null. Error (config) in one
// line that begins with the file and says what is missing, too many or of another shape.
GivenWeights match_weights(const networks::ModelOptions& model, const networks::NetworkFile* network_file,
                           const OfferedWeights& offered, const WeightRules& rules);

// The network's last layer alone starts afresh: for a network in a file that has weights.
GivenWeights renew_head(const networks::ModelOptions& model, const networks::NetworkFile& network_file);

}  // namespace trainyard::interchange
