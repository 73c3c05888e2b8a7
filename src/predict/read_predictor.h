#pragma once

#include "predict/analytic/predictor.h"
#include "predict/runs/model_container.h"

namespace trainyard::predict {

// Reads a model of any kind, by the schema of its file. Throws Error (config), beginning with '`who`', where
// it is no model, or of a kind without a predictor.
std::unique_ptr<Predictor> parse_predictor(const ModelContainer& container, const std::string& who);
std::unique_ptr<Predictor> read_predictor(const std::filesystem::path& path);

}  // namespace trainyard::predict
