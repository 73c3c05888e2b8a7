#include <span>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "base/mapped_file.h"
#include "base/sample_order.h"
#include "pack/class_folders.h"
#include "pack/image_header.h"
#include "pack/pack.h"

namespace trainyard::pack {
namespace {

bool is_image(const std::filesystem::path& path) {
  if (!std::filesystem::is_regular_file(path)) return false;
  const MappedFile file(path);  // what its header does not need is not read
  return read_image_header(std::as_bytes(std::span(file.data(), static_cast<std::size_t>(file.bytes()))))
      .has_value();
}

// Splits of one set share the file.
void want_same_labels(const std::filesystem::path& path, const std::string& labels) {
  if (!std::filesystem::exists(path)) return;
  const std::vector<std::byte> there = read_file(path);
  if (std::string_view(reinterpret_cast<const char*>(there.data()), there.size()) != labels)
    fail(ErrorKind::config, "'{}' names other classes: splits of one set must have the same", path.string());
}

}  // namespace

PackedFolder pack_folder(const std::filesystem::path& folder, std::uint64_t seed,
                         const PackOptions& options) {
  ClassFolders found = list_class_folders(folder);
  PackedFolder result;
  // How many records there will be decides which shard they go to, so whoever is none is looked for first.
  std::erase_if(found.files, [&](const ClassFile& file) {
    if (is_image(file.path)) return false;
    result.left_out.push_back(file.path);
    return true;
  });
  if (found.files.empty())
    fail(ErrorKind::config, "'{}': {} files in {} classes, none of them a JPEG or a PNG", folder.string(),
         result.left_out.size(), found.classes.size());
  want_same_labels(options.to / "labels.txt", labels_text(found.classes));
  const SampleOrder order(seed, static_cast<std::int64_t>(found.files.size()));
  result.set = write_set(options, order.size(), [&](std::int64_t i) {
    const ClassFile& file = found.files[static_cast<std::size_t>(order.index(i))];
    std::vector<std::byte> content = read_file(file.path);
    const std::optional<ImageHeader> header = read_image_header(content);
    if (!header) fail(ErrorKind::config, "'{}' has changed while it was packed", file.path.string());
    return PackedImage{file.label, header->height, header->width, header->format, std::move(content)};
  });
  result.set.classes = static_cast<int>(found.classes.size());
  if (result.set.complete_shards == 0) return result;  // stopped before there was anything to label
  AtomicFile labels(options.to / "labels.txt");
  labels.write(labels_text(found.classes));
  labels.commit();
  return result;
}

}  // namespace trainyard::pack
