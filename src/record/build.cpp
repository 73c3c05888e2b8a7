#include "record/build.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/error.h"

namespace trainyard::record {
namespace {

// What git shows of a commit at least.
constexpr std::size_t kShortestName = 7;
// Enough to be the only one in any repository.
constexpr std::size_t kCommitDigits = 12;

std::string fact_text(const RunRecord& run, const char* key) {
  const Value* value = find_fact(run.provenance, "build", key);
  return value ? to_text(*value) : "";
}

bool is_hexadecimal(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

}  // namespace

std::string build_of(const RunRecord& run) {
  if (const auto named = run.words.find("build"); named != run.words.end()) return named->second;
  // A record that a foreign program left may tell of the trainyard that it used, which is not what is
  // measured.
  if (run.command == "program") return "";
  if (std::string id = fact_text(run, "id"); !id.empty()) return id;
  // Records of programs that had no identity yet.
  const std::string commit = fact_text(run, "commit").substr(0, kCommitDigits);
  const bool changed = fact_text(run, "uncommitted_changes") == "true";
  return commit.empty() || !changed ? commit : commit + "+changed";
}

double commit_seconds_of(const RunRecord& run) {
  const Value* seconds = find_fact(run.provenance, "build", "commit_seconds");
  return seconds ? number_or(*seconds, 0) : 0;
}

std::string commit_in(const std::string& build) {
  const auto end = std::find_if_not(build.begin(), build.end(), is_hexadecimal);
  const std::string commit(build.begin(), end);
  const bool alone = end == build.end() || *end == '-';
  return alone && commit.size() >= kShortestName && commit.size() <= 64 ? commit : "";
}

std::vector<std::string> builds_of(std::span<const RunRecord> runs) {
  std::vector<const RunRecord*> by_start;
  for (const RunRecord& run : runs) by_start.push_back(&run);
  std::stable_sort(by_start.begin(), by_start.end(), [](const RunRecord* a, const RunRecord* b) {
    return a->started_seconds < b->started_seconds;
  });
  std::vector<std::string> builds;
  for (const RunRecord* run : by_start)
    if (const std::string build = build_of(*run);
        std::find(builds.begin(), builds.end(), build) == builds.end())
      builds.push_back(build);
  return builds;
}

std::string newest_build(std::span<const RunRecord> runs) {
  const auto last = std::max_element(runs.begin(), runs.end(), [](const RunRecord& a, const RunRecord& b) {
    return a.started_seconds < b.started_seconds;
  });
  return last == runs.end() ? "" : build_of(*last);
}

std::string find_build(const std::string& name, const std::vector<std::string>& builds) {
  if (std::find(builds.begin(), builds.end(), name) != builds.end()) return name;
  std::vector<std::string> alike;
  std::copy_if(builds.begin(), builds.end(), std::back_inserter(alike),
               [&](const std::string& build) { return !name.empty() && build.starts_with(name); });
  if (alike.size() == 1) return alike.front();
  fail(ErrorKind::usage, "build '{}': {}; there are {}", name,
       alike.empty() ? "no run is of it" : "several begin so", fmt::join(builds, ", "));
}

std::vector<std::string> short_names(const std::vector<std::string>& builds) {
  std::size_t length = kShortestName, longest = kShortestName;
  for (const std::string& build : builds) longest = std::max(longest, build.size());
  const std::set<std::string> distinct(builds.begin(), builds.end());
  for (; length < longest; ++length) {
    std::set<std::string> beginnings;
    for (const std::string& build : distinct) beginnings.insert(build.substr(0, length));
    if (beginnings.size() == distinct.size()) break;
  }
  std::vector<std::string> names;
  for (const std::string& build : builds) names.push_back(build.substr(0, length));
  return names;
}

}  // namespace trainyard::record
