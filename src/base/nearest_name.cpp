#include "base/nearest_name.h"

#include "base/error.h"

namespace trainyard {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest_name(std::string_view given, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, given.size() / 2) + 1;
  for (const std::string& candidate : candidates) {
    // A name that the given text begins is nearer than one with other letters.
    const bool begun = given.size() >= 3 && candidate.starts_with(given);
    const std::size_t distance = begun ? 1 : edit_distance(given, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view given, const std::vector<std::string>& candidates) {
  const std::string nearest = nearest_name(given, candidates);
  return nearest.empty() ? "" : fmt::format(" (did you mean '{}'?)", nearest);
}

void want_one_of(std::string_view setting, const std::string& given,
                 const std::vector<std::string>& allowed) {
  if (std::find(allowed.begin(), allowed.end(), given) != allowed.end()) return;
  std::string list;
  for (const std::string& name : allowed) list += (list.empty() ? "" : ", ") + name;
  fail(ErrorKind::usage, "{} '{}'{}: one of {}", Setting{setting}, given, did_you_mean(given, allowed), list);
}

}  // namespace trainyard
