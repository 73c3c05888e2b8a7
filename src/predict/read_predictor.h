#pragma once

#include <filesystem>
#include <memory>

#include "predict/analytic/predictor.h"

namespace trainyard::predict {

// A model of any kind, by the schema of its file. Error (config) where it is no model, or of a kind that
// nothing here predicts with.
std::unique_ptr<Predictor> read_predictor(const std::filesystem::path& path);

}  // namespace trainyard::predict
