#pragma once

#include "data/source/token_source.h"

namespace trainyard::data {

// Herman Melville's novel of 1851, 1.2 MB of English prose in UTF-8: moby-dick.txt, or data.txt as the
// package calls it. Sequences are as those of load_text(); without options, single steps.
Dataset load_moby_dick(const std::filesystem::path& folder, const std::optional<SequenceOptions>& options);

// Lists the one file. Error (config) when neither is there.
std::vector<std::filesystem::path> list_moby_dick(const std::filesystem::path& folder);

// Copies the text from the folder that it was loaded from.
std::vector<std::string> store_moby_dick(const std::filesystem::path& from,
                                         const std::filesystem::path& folder);

}  // namespace trainyard::data
