#include "weights/state_dict.h"

#include "weights/pickle.h"
#include "weights/stored_zip.h"

namespace trainyard::weights {
namespace {

using Entries = std::map<std::string, std::span<const std::byte>>;

// Tied weights share a storage; more sharing would let a small file cause much memory use.
constexpr std::size_t kMostSharing = 4;
constexpr const char* kPickle = "/data.pkl";

// Files of torch.save before 1.6 begin with a pickle of this number.
constexpr std::string_view kOldMagic("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 14);

void refuse_no_archive(std::span<const std::byte> file, const std::string& who) {
  const std::string_view begin(reinterpret_cast<const char*>(file.data()),
                               std::min<std::size_t>(file.size(), 16));
  if (begin.starts_with(kOldMagic))
    fail(ErrorKind::config,
         "'{}': is in the format of torch.save before 1.6, which is one pickle after the other; load it with "
         "PyTorch and save it anew",
         who);
  if (begin.starts_with('\x80'))
    fail(ErrorKind::config, "'{}': is a pickle alone; wants the zip archive that torch.save writes", who);
}

std::string folder_of(const Entries& entries, const std::string& who) {
  for (const auto& [name, content] : entries)
    if (name.ends_with(kPickle) && name.find('/') == name.size() - std::strlen(kPickle))
      return name.substr(0, name.find('/'));
  fail(ErrorKind::config, "'{}': has no entry FOLDER/data.pkl; wants a state dict as torch.save writes it",
       who);
}

std::span<const std::byte> storage_of(const Entries& entries, const std::string& folder,
                                      const PickledTensor& tensor, const std::string& who) {
  const auto found = entries.find(folder + "/data/" + tensor.storage);
  if (found == entries.end())
    fail(ErrorKind::config, "'{}': the numbers of tensor '{}' are missing", who, tensor.name);
  const std::size_t bytes = size_of(tensor.element);
  if (found->second.size() % bytes != 0 ||
      tensor.storage_elements != static_cast<std::int64_t>(found->second.size() / bytes))
    fail(ErrorKind::config, "'{}': the storage of tensor '{}' has {} bytes, wants {} numbers of {}", who,
         tensor.name, found->second.size(), tensor.storage_elements, name(tensor.element));
  return found->second;
}

// Returns the number of elements. Refuses a tensor that would reach beyond its storage, or be larger than it.
std::int64_t checked_elements(const PickledTensor& tensor, const std::string& who) {
  const std::int64_t available = tensor.storage_elements;
  const auto refuse = [&]() {
    fail(ErrorKind::config, "'{}': tensor '{}' does not lie in its storage of {} numbers", who, tensor.name,
         available);
  };
  if (tensor.shape.size() != tensor.strides.size() || tensor.offset < 0 || tensor.offset > available)
    refuse();
  std::int64_t elements = 1, last = tensor.offset;
  for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis) {
    const std::int64_t size = tensor.shape[axis], stride = tensor.strides[axis];
    if (size < 0 || size > available || stride < 0 || stride > available) refuse();
    // Products of what a file says may have more than 64 bits.
    if (size > 1 && stride > (available - last) / (size - 1)) refuse();
    if (size > 1) last += (size - 1) * stride;
    if (size > 1 && elements > available / size) refuse();
    elements *= size;
  }
  if (elements > 0 && last >= available) refuse();
  return elements;
}

Tensor tensor_of(const PickledTensor& pickled, std::span<const std::byte> storage) {
  return {.name = pickled.name,
          .element = pickled.element,
          .dims = pickled.shape,
          .strides = pickled.strides,
          .content = storage.subspan(static_cast<std::size_t>(pickled.offset) * size_of(pickled.element))};
}

}  // namespace

std::vector<Tensor> parse_state_dict(std::span<const std::byte> file, const std::string& who) {
  refuse_no_archive(file, who);
  Entries entries;
  for (const ZipEntry& entry : read_stored_zip(file, who)) entries[entry.name] = entry.content;
  const std::string folder = folder_of(entries, who);
  if (const auto order = entries.find(folder + "/byteorder"); order != entries.end())
    if (std::string(reinterpret_cast<const char*>(order->second.data()), order->second.size()) != "little")
      fail(ErrorKind::config, "'{}': its numbers are not little-endian", who);
  std::vector<Tensor> tensors;
  std::size_t total = 0;
  for (const PickledTensor& pickled : read_pickled_tensors(entries.at(folder + kPickle), who)) {
    const auto storage = storage_of(entries, folder, pickled, who);
    total += static_cast<std::size_t>(checked_elements(pickled, who)) * size_of(pickled.element);
    if (total > kMostSharing * file.size())
      fail(ErrorKind::config, "'{}': its tensors take more than {} times its bytes", who, kMostSharing);
    tensors.push_back(tensor_of(pickled, storage));
  }
  check_names(tensors, who);
  return tensors;
}

}  // namespace trainyard::weights
