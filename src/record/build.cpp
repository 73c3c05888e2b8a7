#include "record/build.h"

#include <cctype>
#include <tuple>

#include "base/text.h"

namespace trainyard::record {

namespace {

std::string cpu_fact_text(const RunRecord& run, const char* key) {
  const Value* value = find_fact(run.provenance, "cpu", key);
  return value ? to_text(*value) : "";
}

// Older processors pad their names with spaces, and not always alike.
std::string single_spaced(const std::string& text) {
  std::string result;
  for (const char c : text) {
    const bool space = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (space && (result.empty() || result.back() == ' ')) continue;
    result += space ? ' ' : c;
  }
  while (result.ends_with(' ')) result.pop_back();
  return result;
}

std::string processor_of(const RunRecord& run) {
  if (std::string model = single_spaced(cpu_fact_text(run, "model")); !model.empty()) return model;
  // ARM servers report the vendor of the design but not its name.
  const std::string vendor = single_spaced(cpu_fact_text(run, "vendor"));
  return vendor.empty() ? "" : "processor of " + vendor;
}

// A container on a large host may be allowed every core and yet get the time of two.
double cores_of(const RunRecord& run) {
  const auto number = [&](const char* key) {
    const Value* value = find_fact(run.provenance, "cpu", key);
    return value ? number_or(*value, 0) : 0;
  };
  const double allowed = number("allowed_cores"), quota = number("quota_cores");
  return allowed > 0 && quota > 0 ? std::min(allowed, quota) : std::max(allowed, quota);
}

// Formats "NVIDIA H200 x8", by name.
std::vector<std::string> gpus_of(const RunRecord& run) {
  std::map<std::string, int> count;
  for (const Fact& fact : run.provenance) {
    const bool numbered = fact.section.starts_with("gpu") && fact.section.size() > 3;
    if (numbered && fact.key == "name") ++count[single_spaced(to_text(fact.value))];
  }
  std::vector<std::string> texts;
  for (const auto& [name, number] : count) texts.push_back(fmt::format("{} x{}", name, number));
  return texts;
}

}  // namespace

std::string machine_of(const RunRecord& run) {
  const std::string processor = processor_of(run);
  const std::vector<std::string> gpus = gpus_of(run);
  if (processor.empty() && gpus.empty()) return "";
  std::vector<std::string> parts;
  if (!processor.empty()) parts.push_back(processor);
  if (const double cores = cores_of(run); cores > 0)
    parts.push_back(fmt::format("{:g} core{}", cores, cores == 1 ? "" : "s"));
  parts.insert(parts.end(), gpus.begin(), gpus.end());
  return joined(parts, ", ");
}

namespace {

// Git shows at least this many digits of a commit.
constexpr std::size_t kShortestName = 7;
// So many digits are unique in any repository.
constexpr std::size_t kCommitDigits = 12;

std::string fact_text(const RunRecord& run, const char* key) {
  const Value* value = find_fact(run.provenance, "build", key);
  return value ? to_text(*value) : "";
}

bool is_hexadecimal(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

}  // namespace

std::string build_of(const RunRecord& run) {
  if (const auto named = run.words.find("build"); named != run.words.end()) return named->second;
  // A record that a foreign program left may describe the trainyard that it used, which is not the measured
  // program.
  if (run.command == "program") return "";
  if (std::string id = fact_text(run, "id"); !id.empty()) return id;
  // These records come from programs that had no identity yet.
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
       alike.empty() ? "no run is of it" : "several begin so", joined(builds, ", "));
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

namespace {

constexpr std::array<std::string_view, 6> kDisturbances = {"load",     "steal",  "frequency",
                                                           "throttle", "memory", "clock"};

int rank(const RunRecord& run) {
  if (run.status != Status::ok) return 0;
  return is_disturbed(run) ? 1 : 2;
}

}  // namespace

bool is_disturbance(const Warning& warning) {
  return std::find(kDisturbances.begin(), kDisturbances.end(), warning.kind) != kDisturbances.end();
}

bool is_disturbed(const RunRecord& run) {
  return std::any_of(run.warnings.begin(), run.warnings.end(), is_disturbance);
}

bool speaks_instead(const RunRecord& later, const RunRecord& earlier) {
  const int rank_of_later = rank(later), rank_of_earlier = rank(earlier);
  return rank_of_later > rank_of_earlier || (rank_of_later == 0 && rank_of_earlier == 0);
}

std::vector<RunRecord> that_speak(std::vector<RunRecord> runs) {
  using Key = std::tuple<std::string, int, std::string>;  // cell, replicate, build
  const auto key_of = [](const RunRecord& run) { return Key(run.cell, run.replicate, build_of(run)); };
  const auto attempt_before = [](const RunRecord* a, const RunRecord* b) { return a->attempt < b->attempt; };
  std::vector<const RunRecord*> in_order;
  for (const RunRecord& run : runs)
    if (!run.cell.empty()) in_order.push_back(&run);
  std::stable_sort(in_order.begin(), in_order.end(), attempt_before);
  std::map<Key, const RunRecord*> speakers;
  for (const RunRecord* run : in_order) {
    const auto [speaker, is_new] = speakers.emplace(key_of(*run), run);
    if (!is_new && speaks_instead(*run, *speaker->second)) speaker->second = run;
  }
  std::vector<RunRecord> kept;
  for (RunRecord& run : runs)
    if (run.cell.empty() || speakers.at(key_of(run)) == &run) kept.push_back(run);
  return kept;
}

}  // namespace trainyard::record
