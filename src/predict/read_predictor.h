#pragma once

#include <filesystem>
#include <memory>

#include "predict/analytic/predictor.h"

namespace trainyard::predict {

// Reads a model of any kind, by the schema of its file. Throws Error (config) where it is no model, or of a
// kind without a predictor.
std::unique_ptr<Predictor> read_predictor(const std::filesystem::path& path);

}  // namespace trainyard::predict
