#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "study/cell/cost.h"

namespace trainyard::cli {

// By which model the runs of a study are estimated.
struct CostOptions {
  std::filesystem::path model, devices;  // empty: none
  std::string device;                    // empty: the only one of the model
};

void add_cost_options(CLI::App& command, CostOptions& options);

// Null without a model. Error (usage) lists the model's devices where one has to be chosen.
std::unique_ptr<study::CostModel> read_cost_model(const CostOptions& options);

}  // namespace trainyard::cli
