#include "study/spec/file_networks.h"

#include <fstream>

#include "base/json.h"
#include "data/get/gzip_file.h"
#include "networks/zoo/network_files.h"

namespace trainyard::study {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNetwork = "network";

std::set<std::string> network_names(const Spec& spec) {
  std::set<std::string> names;
  const auto add = [&](const record::Value& value) { names.insert(record::to_text(value)); };
  for (const Matrix& matrix : matrices_of(spec)) {
    if (const auto setting = matrix.settings.find(kNetwork); setting != matrix.settings.end())
      add(setting->second);
    for (const Axis& axis : matrix.axes)
      if (axis.name == kNetwork) std::for_each(axis.values.begin(), axis.values.end(), add);
  }
  return names;
}

bool is_readable(const fs::path& path) {
  std::error_code unreadable;
  return fs::is_regular_file(path, unreadable) && std::ifstream(path).good();
}

}  // namespace

std::string path_beside(const std::string& name, const fs::path& yaml) {
  std::error_code unreadable;
  const fs::path beside = fs::absolute(yaml).parent_path() / name;
  return (fs::exists(beside, unreadable) ? beside : fs::absolute(name)).lexically_normal().string();
}

std::string network_beside(const std::string& name, const fs::path& yaml) {
  return networks::names_network_file(name) ? path_beside(name, yaml) : name;
}

std::map<std::string, FileNetwork> find_file_networks(const Spec& spec) {
  std::map<std::string, FileNetwork> found;
  if (spec.run != "bench" && spec.run != "train") return found;
  for (const std::string& name : network_names(spec)) {
    if (!networks::names_network_file(name)) continue;
    const fs::path path = network_beside(name, spec.file);
    found[name] = {path, is_readable(path) ? data::sha256_of_file(path) : ""};
  }
  return found;
}

record::Settings with_network_path(const Spec& spec, record::Settings settings) {
  const auto setting = settings.find(kNetwork);
  if (setting == settings.end()) return settings;
  const auto network = spec.networks.find(record::to_text(setting->second));
  if (network != spec.networks.end()) setting->second = network->second.path.string();
  return settings;
}

std::string to_json(const std::map<std::string, FileNetwork>& networks) {
  Json json = Json::object();
  for (const auto& [name, network] : networks)
    json[name] = {{"file", network.path.string()}, {"sha256", network.sha256}};
  return json_text(json, 2) + "\n";
}

std::map<std::string, FileNetwork> file_networks_from_json(const std::string& text) {
  std::map<std::string, FileNetwork> networks;
  try {
    const Json json = parse_json(text);
    for (const auto& [name, network] : json.items())
      networks[name] = {network.at("file").get<std::string>(), network.at("sha256").get<std::string>()};
  } catch (const Json::Error& error) {
    fail(ErrorKind::config, "networks.json of a study: {}", error.what());
  }
  return networks;
}

}  // namespace trainyard::study
