#include "record/machine.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <vector>

#include <fmt/format.h>

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
  // ARM servers say who made the design and not what it is called.
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

// "NVIDIA H200 x8", by name.
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
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace trainyard::record
