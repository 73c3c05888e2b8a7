#pragma once

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "predict/evaluate.h"

namespace trainyard::cli {

// Scores of parts by the parts' names, in the order they are added.
using NamedScores = std::vector<std::pair<std::string, predict::Score>>;

nlohmann::ordered_json json_of_score(const predict::Score& score);
void print_scores(const std::string& what, const NamedScores& scores);

// Errors of shares of time, in points; nothing where there are none.
nlohmann::ordered_json json_of_use_scores(const std::vector<predict::UseScore>& scores);
void print_use_scores(const std::vector<predict::UseScore>& scores);

// One score for each value of `key_of`, by name.
template <typename KeyOf>
NamedScores scores_by(const std::vector<predict::Judged>& judged, const KeyOf& key_of) {
  std::map<std::string, std::vector<predict::Judged>> parts;
  for (const predict::Judged& one : judged) parts[key_of(one)].push_back(one);
  NamedScores scores;
  for (const auto& [name, part] : parts) scores.emplace_back(name, predict::score(part));
  return scores;
}

// Devices that a model has seen, then those of a file, then those that are known.
std::vector<predict::Device> devices_to_choose_from(const std::vector<predict::Device>& seen,
                                                    const std::filesystem::path& file);

}  // namespace trainyard::cli
