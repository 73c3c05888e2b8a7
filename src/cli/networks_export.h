#pragma once

#include <cstdint>
#include <string>

#include "interchange/onnx_export.h"
#include "networks/zoo/model.h"

namespace trainyard::cli {

struct ExportedWeights {
  interchange::WeightSource source;  // null: none
  networks::ModelOptions model;      // the one to export
};

// Returns the weights of an exported network. `weights` is "none", "initial" (the weights with which a
// training of this seed begins), a checkpoint, or a folder of checkpoints, whose last one is taken. A
// checkpoint also says classes, input and parameters of its network. Error (config) names what is missing or
// damaged there.
ExportedWeights exported_weights(const std::string& weights, std::uint64_t seed,
                                 networks::ModelOptions model);

}  // namespace trainyard::cli
