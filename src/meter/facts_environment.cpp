#include <algorithm>
#include <cctype>

#include "meter/facts.h"

namespace trainyard::meter {
namespace {

// Variables that change how fast a step is. Nothing else of the environment is ever looked at.
constexpr std::string_view kPrefixes[] = {"OMP_", "GOMP_",   "KMP_",  "DNNL_",     "ONEDNN_",
                                          "MKL_", "MALLOC_", "NCCL_", "TRAINYARD_"};
constexpr std::string_view kNames[] = {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER",
                                       "CUDA_LAUNCH_BLOCKING", "CUDA_MODULE_LOADING",
                                       "NVIDIA_TF32_OVERRIDE", "NVIDIA_VISIBLE_DEVICES",
                                       "CUDNN_LOGINFO_DBG",    "GLIBC_TUNABLES",
                                       "LD_BIND_NOW",          "LD_PRELOAD"};
constexpr std::size_t kMostCharacters = 300;

// By which our own processes tell each other things; of no run's settings, and different in each.
constexpr std::string_view kBetweenProcesses = "TRAINYARD_INTERNAL_";

bool allowed(std::string_view name) {
  if (name.starts_with(kBetweenProcesses)) return false;
  return std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [&](std::string_view prefix) { return name.starts_with(prefix); }) ||
         std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

// Nothing that tunes a program is called so; what is may be a password in the wrong place.
bool secret_name(std::string_view name) {
  static constexpr std::string_view kWords[] = {"SECRET",     "TOKEN", "PASS",   "KEY",
                                                "CREDENTIAL", "AUTH",  "PRIVATE"};
  std::string upper(name);
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return std::any_of(std::begin(kWords), std::end(kWords),
                     [&](std::string_view word) { return upper.find(word) != upper.npos; });
}

// Letters and digits in one long run, as keys and hashes are; settings are words and numbers with something
// between.
bool secret_value(std::string_view value) {
  static constexpr std::string_view kMarks[] = {"ghp_", "github_pat_", "glpat-", "AKIA",
                                                "sk-",  "xox",         "eyJ",    "-----BEGIN"};
  constexpr std::size_t kLongRun = 24;
  if (std::any_of(std::begin(kMarks), std::end(kMarks),
                  [&](std::string_view mark) { return value.find(mark) != value.npos; }))
    return true;
  if (value.find("://") != value.npos && value.find('@') != value.npos) return true;
  std::size_t run = 0;
  bool digit = false, letter = false;
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (!std::isalnum(byte) && c != '_' && c != '+' && c != '=') {
      run = 0;
      digit = letter = false;
      continue;
    }
    ++run;
    digit = digit || std::isdigit(byte);
    letter = letter || std::isalpha(byte);
    if (run >= kLongRun && digit && letter) return true;
  }
  return false;
}

// "/home/someone/libjemalloc.so.2:libx.so" -> "libjemalloc.so.2:libx.so": folders are a person's own affair.
std::string without_folders(std::string_view list) {
  std::string names;
  while (!list.empty()) {
    const std::string_view entry = list.substr(0, list.find_first_of(": ,="));
    names += entry.starts_with('/') ? entry.substr(entry.rfind('/') + 1) : entry;
    if (entry.size() < list.size()) names += list[entry.size()];
    list.remove_prefix(std::min(list.size(), entry.size() + 1));
  }
  return names;
}

}  // namespace

record::Provenance environment_facts(const Environment& environment) {
  FactSection section("environment");
  for (const auto& [name, value] : environment) {
    if (!allowed(name) || secret_name(name)) continue;
    const std::string text = without_folders(value);
    section.add(name.c_str(), secret_value(value) || text.size() > kMostCharacters ? "(hidden)" : text);
  }
  return section.take();
}

}  // namespace trainyard::meter
