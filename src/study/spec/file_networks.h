#pragma once

#include "study/spec/spec.h"

// Networks that YAML files name by their files, as every command finds them.
namespace trainyard::study {

// Returns the absolute path of a file that a YAML file names: seen from the folder of the YAML file, or,
// where there is none, from the current one.
std::string path_beside(const std::string& name, const std::filesystem::path& yaml);

// Returns that of the file of a network. Any other name stays as it is.
std::string network_beside(const std::string& name, const std::filesystem::path& yaml);

// Returns the networks of a study that lie in files, by the names that it gives them.
std::map<std::string, FileNetwork> find_file_networks(const Spec& spec);

// Returns the settings with the path of the network's file in place of its name.
record::Settings with_network_path(const Spec& spec, record::Settings settings);

// What the folder of a study keeps of them, so that its cells can be named again without the files.
std::string to_json(const std::map<std::string, FileNetwork>& networks);
std::map<std::string, FileNetwork> file_networks_from_json(const std::string& text);

}  // namespace trainyard::study
