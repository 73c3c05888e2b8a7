#include "predict/gnn/state_dict.h"

#include <cstring>
#include <map>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "predict/gnn/pickle.h"
#include "predict/gnn/stored_zip.h"

namespace trainyard::predict {
namespace {

using Entries = std::map<std::string, std::span<const std::byte>>;

// Tied weights share a storage; more than that would let a small file stand for much memory.
constexpr std::size_t kMostSharing = 4;
constexpr const char* kPickle = "/data.pkl";

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
  const auto elements = static_cast<std::int64_t>(found->second.size() / sizeof(float));
  if (found->second.size() % sizeof(float) != 0 || tensor.storage_elements != elements)
    fail(ErrorKind::config, "'{}': the storage of tensor '{}' has {} bytes, wants {} floats", who,
         tensor.name, found->second.size(), tensor.storage_elements);
  return found->second;
}

// How many numbers; refuses a tensor that would reach beyond its storage, or be larger than that.
std::int64_t checked_elements(const PickledTensor& tensor, const std::string& who) {
  const std::int64_t available = tensor.storage_elements;
  const auto refuse = [&]() {
    fail(ErrorKind::config, "'{}': tensor '{}' does not lie in its storage of {} floats", who, tensor.name,
         available);
  };
  if (tensor.shape.size() != tensor.strides.size() || tensor.offset < 0 || tensor.offset > available)
    refuse();
  std::int64_t elements = 1, last = tensor.offset;
  for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis) {
    const std::int64_t size = tensor.shape[axis], stride = tensor.strides[axis];
    if (size < 0 || size > available || stride < 0 || stride > available) refuse();
    if (size > 1) last += (size - 1) * stride;  // both below 2^32: an entry of a zip has no more bytes
    elements *= size;
    if (elements > available || last > available) refuse();
  }
  if (elements > 0 && last >= available) refuse();
  return elements;
}

NamedTensor gather(const PickledTensor& tensor, std::span<const std::byte> storage, std::int64_t elements) {
  NamedTensor made{tensor.name, {}, std::vector<float>(static_cast<std::size_t>(elements))};
  for (const std::int64_t size : tensor.shape) made.shape.append(size);
  std::vector<std::int64_t> index(tensor.shape.size(), 0);
  std::int64_t place = tensor.offset;
  for (float& number : made.numbers) {
    std::memcpy(&number, storage.data() + static_cast<std::size_t>(place) * sizeof(float), sizeof number);
    for (std::size_t axis = index.size(); axis-- > 0;) {
      place += tensor.strides[axis];
      if (++index[axis] < tensor.shape[axis]) break;
      place -= tensor.strides[axis] * tensor.shape[axis];
      index[axis] = 0;
    }
  }
  return made;
}

}  // namespace

std::vector<NamedTensor> parse_state_dict(std::span<const std::byte> file, const std::string& who) {
  Entries entries;
  for (const ZipEntry& entry : read_stored_zip(file, who)) entries[entry.name] = entry.content;
  const std::string folder = folder_of(entries, who);
  if (const auto order = entries.find(folder + "/byteorder"); order != entries.end())
    if (std::string(reinterpret_cast<const char*>(order->second.data()), order->second.size()) != "little")
      fail(ErrorKind::config, "'{}': its numbers are not little-endian", who);
  std::vector<NamedTensor> tensors;
  std::set<std::string> names;
  std::size_t total = 0;
  for (const PickledTensor& tensor : read_pickled_tensors(entries.at(folder + kPickle), who)) {
    if (!names.insert(tensor.name).second)
      fail(ErrorKind::config, "'{}': tensor '{}' occurs twice", who, tensor.name);
    const auto storage = storage_of(entries, folder, tensor, who);
    const std::int64_t elements = checked_elements(tensor, who);
    total += static_cast<std::size_t>(elements) * sizeof(float);
    if (total > kMostSharing * file.size())
      fail(ErrorKind::config, "'{}': its tensors take more than {} times its bytes", who, kMostSharing);
    tensors.push_back(gather(tensor, storage, elements));
  }
  return tensors;
}

std::vector<NamedTensor> read_state_dict(const std::filesystem::path& path) {
  return parse_state_dict(read_file(path), path.string());
}

}  // namespace trainyard::predict
