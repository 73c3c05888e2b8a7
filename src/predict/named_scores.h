#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "predict/evaluate.h"

namespace trainyard::predict {

// Scores of parts by the parts' names, in the order they are added.
using NamedScores = std::vector<std::pair<std::string, Score>>;

// One score for each value of `key_of`, by name.
template <typename KeyOf>
NamedScores scores_by(const std::vector<Judged>& judged, const KeyOf& key_of) {
  std::map<std::string, std::vector<Judged>> parts;
  for (const Judged& one : judged) parts[key_of(one)].push_back(one);
  NamedScores scores;
  for (const auto& [name, part] : parts) scores.emplace_back(name, score(part));
  return scores;
}

}  // namespace trainyard::predict
