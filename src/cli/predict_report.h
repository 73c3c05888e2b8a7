#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "predict/named_scores.h"
#include "predict/time_model.h"

namespace trainyard::cli {

using predict::NamedScores;
using predict::scores_by;

nlohmann::ordered_json json_of_score(const predict::Score& score);
void print_scores(const std::string& what, const NamedScores& scores);

// Errors of shares of time, in points; nothing where there are none.
nlohmann::ordered_json json_of_use_scores(const std::vector<predict::UseScore>& scores);
void print_use_scores(const std::vector<predict::UseScore>& scores);

// Devices that a model has seen, then those of a file, then those that are known.
std::vector<predict::Device> devices_to_choose_from(const std::vector<predict::Device>& seen,
                                                    const std::filesystem::path& file);

}  // namespace trainyard::cli
