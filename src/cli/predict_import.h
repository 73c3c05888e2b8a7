#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include <CLI/CLI.hpp>

#include "predict/runs/model_container.h"

namespace trainyard::cli {

// Declares `trainyard predict import`, which makes a model file of weights that others published.
std::function<int()> declare_predict_import(CLI::App& command);

// The part of the options of `predict run` that an imported model uses.
struct ImportedRun {
  std::filesystem::path model, ops;
  std::string network;  // of ours, or the file of a graph
  std::int64_t batch = 1;
  int classes = 0;
  bool json = false;
};

// Predicts by an imported model and prints the result. REQUIRES: a container of kGraphModelSchema.
int run_imported(const predict::ModelContainer& container, const ImportedRun& run);

}  // namespace trainyard::cli
