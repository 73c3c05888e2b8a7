#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace trainyard::fetch {

// Unpacks the entries named in `wanted`, and nothing else, from a .tgz into `folder`. Each lands there
// under its last path component, so no entry of the archive can choose where it is written.
// `tick` gets the bytes of archive passed so far. An entry that is missing is an Error (config).
void unpack_tarball(const std::filesystem::path& tarball, const std::vector<std::string>& wanted,
                    const std::filesystem::path& folder, const std::function<void(std::int64_t)>& tick);

}  // namespace trainyard::fetch
