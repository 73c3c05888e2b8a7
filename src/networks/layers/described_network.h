#pragma once

#include "networks/zoo/network_files.h"

namespace trainyard {
class Json;
}

namespace trainyard::networks::layers {

// The ends of names of such files.
inline constexpr std::array kEnds = {".yaml", ".yml"};

// Returns the network that a file of layers describes (docs/formats/network-yaml.md). Throws Error (config)
// with file, line and column of what is wrong; the network is built once to see that its layers fit together.
std::shared_ptr<const NetworkFile> read_described(const std::filesystem::path& file);

// The same of the file's content.
std::shared_ptr<const NetworkFile> parse_described(const std::string& text, const std::string& file_name);

// Makes names like "mine.yaml" those of networks.
void know_described_networks();

// Returns the JSON schema of files of layers, made of the table of layers. Editors complete and check by it.
Json schema();

}  // namespace trainyard::networks::layers
