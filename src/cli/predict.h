#pragma once

// Declares the subcommands of `trainyard predict`.

#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>

#include "predict/analytic/evaluate.h"
#include "predict/analytic/time_model.h"

namespace trainyard::cli {

std::function<int()> declare_predict_fit(CLI::App& command);
std::function<int()> declare_predict_eval(CLI::App& command);
std::function<int()> declare_predict_run(CLI::App& command);

using predict::NamedScores;
using predict::scores_by;

nlohmann::ordered_json json_of_score(const predict::Score& score);
void print_scores(const std::string& what, const NamedScores& scores);

// Errors of shares of time, in points; nothing where there are none.
nlohmann::ordered_json json_of_use_scores(const std::vector<predict::UseScore>& scores);
void print_use_scores(const std::vector<predict::UseScore>& scores);

// Devices that a model has seen, then those of a file, then those that are known.
std::vector<predict::DeviceSheet> devices_to_choose_from(const std::vector<predict::DeviceSheet>& seen,
                                                         const std::filesystem::path& file);

std::function<int()> declare_predict(CLI::App& command);

}  // namespace trainyard::cli
