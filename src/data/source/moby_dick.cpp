#include "data/source/moby_dick.h"

#include "base/error.h"
#include "base/file.h"
#include "data/source/dataset.h"

namespace trainyard::data {

namespace {

constexpr const char* kName = "moby-dick.txt";
constexpr const char* kNameInPackage = "data.txt";
constexpr SequenceOptions kSteps{.length = 1, .vocabulary = kByteVocabulary};

}  // namespace

std::vector<std::filesystem::path> list_moby_dick(const std::filesystem::path& folder) {
  for (const char* name : {kName, kNameInPackage})
    if (std::filesystem::is_regular_file(folder / name)) return {folder / name};
  fail(ErrorKind::config, "dataset 'moby-dick': no file '{}' or '{}' in '{}'", kName, kNameInPackage,
       folder.string());
}

Dataset load_moby_dick(const std::filesystem::path& folder, const std::optional<SequenceOptions>& options) {
  Dataset dataset = load_text(list_moby_dick(folder).front(), options.value_or(kSteps));
  dataset.name = "moby-dick";
  return dataset;
}

std::vector<std::string> store_moby_dick(const std::filesystem::path& from,
                                         const std::filesystem::path& folder) {
  const MappedFile text(list_moby_dick(from).front());
  AtomicFile copy(folder / kName);
  copy.write(text.data(), static_cast<std::size_t>(text.bytes()));
  copy.commit();
  return {kName};
}

}  // namespace trainyard::data
