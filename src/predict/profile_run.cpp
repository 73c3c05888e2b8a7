#include "predict/profile_run.h"

#include <charconv>
#include <cmath>
#include <sstream>

#include <nlohmann/json.hpp>

#include "predict/use_model.h"

namespace trainyard::predict {
namespace {

constexpr double kBenchWarmupSteps = 5;  // where `bench` is not told otherwise

// The word behind an option, or after its `=`.
std::string option_in(const std::string& program, const std::string& option) {
  std::istringstream words(program);
  for (std::string word; words >> word;) {
    if (word == option) return words >> word ? word : "";
    if (word.starts_with(option + "=")) return word.substr(option.size() + 1);
  }
  return "";
}

double whole_option(const std::string& program, const std::string& option, double otherwise) {
  const std::string word = option_in(program, option);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc() && end == word.data() + word.size() && value >= 0 ? static_cast<double>(value)
                                                                                : otherwise;
}

std::vector<ResourceUse> profiled_use(const std::string& profile) {
  const nlohmann::json json = nlohmann::json::parse(profile, nullptr, false);
  std::vector<ResourceUse> use;
  if (!json.is_object() || !json.contains("signals") || !json["signals"].is_array()) return use;
  for (const nlohmann::json& signal : json["signals"]) {
    const auto share = [&](const char* key) {
      const auto at = signal.find(key);
      const double value = at != signal.end() && at->is_number() ? at->get<double>() : std::nan("");
      return value >= 0 && value <= 1 ? value : std::nan("");
    };
    if (!signal.is_object() || !signal.contains("signal") || !signal["signal"].is_string()) continue;
    const std::string name = signal["signal"];
    if (resource_key(name) != name)  // one of those that predictions speak of
      use.push_back({name, share("burst_share"), share("idle_share"), share("peak_share")});
  }
  return use;
}

}  // namespace

std::optional<TableRun> run_of_profile(const record::RunRecord& record, const std::string& device) {
  const auto asked = record.asked.find("program");
  if (asked == record.asked.end() || record.status != record::Status::ok) return std::nullopt;
  const std::string program = record::to_text(asked->second);
  const double steps = whole_option(program, "--steps", 0), batch = whole_option(program, "--batch", 0);
  const double seconds = record.figure_or("seconds", 0);
  const std::string on = device.empty() ? option_in(program, "--device") : device;
  TableRun run{.device = on.empty() ? "cpu" : on, .network = option_in(program, "--network")};
  if (run.network.empty() || batch < 1 || steps < 1 || !(seconds > 0)) return std::nullopt;
  const std::string optimizer = option_in(program, "--optimizer");
  if (!optimizer.empty()) run.optimizer = optimizer_named(optimizer);
  run.batch = static_cast<std::int64_t>(batch);
  run.epochs = steps;
  run.images_per_epoch = batch;
  const bool bench = program.find(" bench ") != std::string::npos;
  run.warmup_steps = whole_option(program, "--warmup", bench ? kBenchWarmupSteps : 0);
  run.seconds = seconds;
  const auto profile = record.details.find("profile");
  if (profile != record.details.end()) run.use = profiled_use(profile->second);
  return run;
}

}  // namespace trainyard::predict
