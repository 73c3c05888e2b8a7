#pragma once

#include "predict/gnn/network.h"

namespace trainyard::predict {

struct ZipEntry {
  std::string name;
  std::span<const std::byte> content;  // of the file's bytes
};

// Returns the entries of a zip archive that are stored uncompressed, each verified by its CRC. Throws Error
// (config), beginning with '`who`', where the bytes are no such archive: damaged, compressed, encrypted, in
// several parts or of the 64-bit kind.
std::vector<ZipEntry> read_stored_zip(std::span<const std::byte> file, const std::string& who);

// Returns the tensors of a PyTorch state dict in zip format (torch.save since 1.6), in its order; strided
// ones in plain order. It executes nothing of the file. Throws Error (config), beginning with the file's
// name, for a file that is damaged or compressed, a pickle other than a state dict of float tensors, or a
// tensor beyond its storage.
std::vector<NamedTensor> parse_state_dict(std::span<const std::byte> file, const std::string& who);
std::vector<NamedTensor> read_state_dict(const std::filesystem::path& path);

}  // namespace trainyard::predict
