#include "cli/study_options.h"

#include <algorithm>
#include <cctype>
#include <map>

#include <fmt/format.h>

#include "base/error.h"
#include "meter/nvml.h"
#include "networks/zoo.h"
#include "study/make_store.h"

namespace trainyard::cli {
namespace {

// Training images of the data sets that lie in files.
const std::map<std::string, std::int64_t> kTrainingImages = {{"mnist", 60'000}, {"cifar10", 50'000}};

std::string in_lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

const std::vector<std::string>& gpus_here() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    const auto nvml = meter::Nvml::open();
    for (int i = 0; nvml != nullptr && i < nvml->device_count(); ++i) names.push_back(nvml->describe(i).name);
    return names;
  }();
  return kNames;
}

// A cluster's "h200" is NVML's "NVIDIA H200".
bool is_of_type(const std::string& gpu, const std::string& type) {
  return in_lower_case(gpu).find(in_lower_case(type)) != std::string::npos;
}

networks::generator::Given parameters_in(const record::Settings& settings) {
  networks::generator::Given given;
  for (const networks::NetworkInfo& network : networks::all_networks())
    if (network.generator != nullptr)
      for (const networks::generator::Parameter& parameter : network.generator->parameters)
        if (const auto found = settings.find(parameter.name); found != settings.end())
          given[parameter.name] = record::to_text(found->second);
  return given;
}

}  // namespace

std::string impossible(const record::Settings& settings) {
  try {
    if (const std::string network = setting_text(settings, "network"); !network.empty())
      networks::find_network(network, parameters_in(settings));
  } catch (const Error& error) {
    return error.what();
  }
  const std::string gpus = setting_text(settings, "gpus"), devices = setting_text(settings, "devices");
  if (setting_text(settings, "device").starts_with("cuda") && !gpus.empty() &&
      gpus != (devices.empty() ? "1" : devices))
    return fmt::format("gpus {} with devices {}: the others would idle", gpus,
                       devices.empty() ? "1" : devices);
  const auto images = kTrainingImages.find(setting_text(settings, "data"));
  const auto batch = settings.find("batch");
  if (images == kTrainingImages.end() || batch == settings.end()) return "";
  if (record::number_or(batch->second, 0) > static_cast<double>(images->second))
    return fmt::format("batch {} is larger than the training set of {} ({} images)",
                       record::to_text(batch->second), images->first, images->second);
  return "";
}

std::string impossible_here(const record::Settings& settings) {
  if (const std::string reason = impossible(settings); !reason.empty()) return reason;
  const auto count = [&](const char* name, double otherwise) {
    const auto found = settings.find(name);
    return found == settings.end() ? otherwise : record::number_or(found->second, otherwise);
  };
  if (count("nodes", 1) > 1) return fmt::format("{} nodes asked for, this machine is one", count("nodes", 1));
  const std::string type = setting_text(settings, "gpu_type");
  const bool on_gpu = setting_text(settings, "device").starts_with("cuda");
  const double gpus = count("gpus", on_gpu ? count("devices", 1) : type.empty() ? 0 : 1);
  if (gpus == 0) return "";
  const auto here = std::count_if(gpus_here().begin(), gpus_here().end(),
                                  [&](const std::string& gpu) { return is_of_type(gpu, type); });
  if (gpus > static_cast<double>(here))
    return fmt::format("GPUs asked for: {}{}{}; this machine has {}", gpus, type.empty() ? "" : " of type ",
                       type, here);
  return "";
}

study::Spec read_study(const std::filesystem::path& file, const std::vector<std::string>& overrides) {
  study::Spec spec = study::read_spec(file);
  for (const std::string& assignment : overrides) study::override_setting(spec, assignment);
  return spec;
}

void add_study_options(CLI::App& command, std::filesystem::path& file, std::filesystem::path& out,
                       std::vector<std::string>& overrides) {
  command.add_option("file", file, "The study's YAML file")->required()->type_name("FILE");
  command.add_option("--out,-o", out, "The study's folder (default: results/NAME)")->type_name("DIR");
  command.add_option("--set", overrides, "A setting in place of the file's; may be given several times")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
}

void add_shard_option(CLI::App& command, std::string& shard) {
  command
      .add_option("--shard", shard,
                  "The K-th of N equal shares of the cells, so that N machines can share the study")
      ->type_name("K/N");
}

study::Plan share_of(study::Plan plan, const std::string& shard) {
  if (shard.empty()) return plan;
  study::Plan share = study::take_shard(plan, study::parse_shard(shard));
  if (share.cells.empty())
    fail(ErrorKind::usage, "--shard {}: the study has {} cells, so this share has none", shard,
         plan.cells.size());
  return share;
}

std::int64_t report_impossible(const study::Spec& spec, const study::Plan& plan) {
  std::map<std::string, std::int64_t> reasons;
  for (const study::Cell& cell : plan.cells)
    if (!cell.refused.empty()) ++reasons[cell.refused];
  std::int64_t cells = 0;
  for (const auto& [reason, count] : reasons) {
    fmt::print(stderr, "trainyard: {}: {}: {} of {} cells can never run\n", spec.file, reason, count,
               plan.cells.size());
    cells += count;
  }
  return cells;
}

study::Folder folder_of(const study::Spec& spec, const std::filesystem::path& out) {
  // Runs are started with absolute paths: a cluster's job begins in a folder of its own.
  return {std::filesystem::absolute(out.empty() ? std::filesystem::path("results") / spec.name : out)
              .lexically_normal()};
}

study::Folder existing_folder(const std::filesystem::path& path) {
  const study::Folder folder{std::filesystem::absolute(path).lexically_normal()};
  if (!std::filesystem::exists(folder.store()) && std::filesystem::exists(folder.spec()))
    study::make_store(folder);
  if (!std::filesystem::exists(folder.store()))
    fail(ErrorKind::usage, "'{}' is not the folder of a study: there is no {} in it", path.string(),
         folder.store().filename().string());
  return folder;
}

std::vector<std::string> varying_settings(const std::vector<const record::Settings*>& cells) {
  std::map<std::string, std::set<std::string>> values;
  for (const record::Settings* cell : cells)
    for (const auto& [name, value] : *cell) values[name];
  for (auto& [name, seen] : values)
    for (const record::Settings* cell : cells) seen.insert(setting_text(*cell, name));
  std::vector<std::string> names;
  for (const auto& [name, seen] : values)
    if (seen.size() > 1) names.push_back(name);
  return names;
}

std::string setting_text(const record::Settings& settings, const std::string& name) {
  const auto found = settings.find(name);
  return found == settings.end() ? "" : record::to_text(found->second);
}

}  // namespace trainyard::cli
