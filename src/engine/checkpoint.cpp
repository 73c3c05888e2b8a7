#include "engine/checkpoint.h"

#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <fstream>

#include "base/crc32c.h"
#include "base/file.h"
#include "engine/canonical.h"
#include "engine/plain_order.h"

namespace trainyard::engine {
namespace {

namespace fs = std::filesystem;

constexpr const char *kPrefix = "step-", *kManifest = "manifest.json", *kTensors = "tensors.bin";
constexpr std::int64_t kChunkBytes = std::int64_t{4} << 20;

std::optional<std::int64_t> step_of(const fs::path& path) {
  const std::string name = path.filename().string();
  if (!name.starts_with(kPrefix)) return std::nullopt;
  std::int64_t step = 0;
  const char *begin = name.data() + std::strlen(kPrefix), *end = name.data() + name.size();
  const auto parsed = std::from_chars(begin, end, step);
  return parsed.ec == std::errc() && parsed.ptr == end ? std::optional(step) : std::nullopt;
}

fs::path aside_of(const fs::path& checkpoint) {
  return checkpoint.parent_path() / fmt::format(".{}.part-{}", checkpoint.filename().string(), ::getpid());
}

// Removes the files that killed writers left. The folder has one writer, so none of them can be in use.
void remove_leftovers(const fs::path& folder) {
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(folder, code)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(std::string(".") + kPrefix) && name.find(".part-") != std::string::npos)
      fs::remove_all(entry.path(), code);
  }
}

// A checkpoint is renamed before it is removed, so that a checkpoint under its name is always whole.
void prune(const fs::path& folder, int keep) {
  const std::vector<fs::path> all = list_checkpoints(folder);
  std::error_code code;
  for (std::size_t i = 0; i + static_cast<std::size_t>(std::max(keep, 1)) < all.size(); ++i) {
    const fs::path aside = aside_of(all[i]);
    fs::rename(all[i], aside, code);
    fs::remove_all(aside, code);
  }
}

class RemovedUnlessKept {
 public:
  explicit RemovedUnlessKept(fs::path path) : path_(std::move(path)) {}
  ~RemovedUnlessKept() {
    std::error_code code;
    if (!path_.empty()) fs::remove_all(path_, code);
  }
  RemovedUnlessKept(const RemovedUnlessKept&) = delete;
  RemovedUnlessKept& operator=(const RemovedUnlessKept&) = delete;
  void keep() { path_.clear(); }

 private:
  fs::path path_;
};

// Returns the buffers that outlive a run, in the order of the graph's values.
std::vector<const plan::Buffer*> state_buffers(const Executor& executor) {
  std::vector<const plan::Buffer*> buffers;
  for (const auto region :
       {plan::Region::parameters, plan::Region::statistics, plan::Region::optimizer_state}) {
    const auto tensors = tensors_in(executor.plan(), region);
    buffers.insert(buffers.end(), tensors.begin(), tensors.end());
  }
  std::sort(buffers.begin(), buffers.end(), [](const auto* a, const auto* b) { return a->value < b->value; });
  return buffers;
}

// Calls piece(begin, end, bytes) for chunks of a tensor's elements.
template <typename Piece>
void in_chunks(const graph::TensorType& type, const Piece& piece) {
  const auto size = static_cast<std::int64_t>(size_of(type.dtype));
  const std::int64_t count = type.shape.elements(), chunk = kChunkBytes / size;
  for (std::int64_t begin = 0; begin < count; begin += chunk) {
    const std::int64_t end = std::min(count, begin + chunk);
    piece(begin, end, static_cast<std::size_t>((end - begin) * size));
  }
}

CheckpointManifest write_tensors(const Executor& executor, const fs::path& path) {
  CheckpointManifest manifest;
  AtomicFile file(path);
  const AlignedBuffer chunk(static_cast<std::size_t>(kChunkBytes));
  for (const plan::Buffer* buffer : state_buffers(executor)) {
    StoredTensor tensor{.name = buffer->name,
                        .role = executor.graph().value(buffer->value).role,
                        .type = buffer->type,
                        .offset = manifest.tensors_bytes};
    const PlainOrder order(buffer->layout, buffer->type.shape, buffer->type.dtype);
    executor.look(*buffer, [&](const std::byte* memory) {
      in_chunks(buffer->type, [&](std::int64_t begin, std::int64_t end, std::size_t bytes) {
        order.gather(memory, begin, end, chunk.data());
        tensor.crc32c = crc32c(chunk.data(), bytes, tensor.crc32c);
        file.write(chunk.data(), bytes);
      });
    });
    manifest.tensors_bytes += tensor.type.bytes();
    manifest.tensors.push_back(std::move(tensor));
  }
  file.commit();
  return manifest;
}

void check_same_run(const fs::path& checkpoint, const CheckpointHeader& found,
                    const CheckpointHeader& wanted) {
  std::string differences;
  const auto compare = [&](const std::string& what, const std::string& there, const std::string& asked) {
    if (there != asked)
      differences +=
          fmt::format("{}{} {} there, {} asked", differences.empty() ? "" : "; ", what, there, asked);
  };
  compare("network", found.network, wanted.network);
  compare("seed", std::to_string(found.seed), std::to_string(wanted.seed));
  const std::map<std::string, std::string> there(found.asked.begin(), found.asked.end());
  for (const auto& [key, value] : wanted.asked)
    compare(key, there.contains(key) ? there.at(key) : "nothing", value);
  const std::map<std::string, std::string> here(wanted.asked.begin(), wanted.asked.end());
  for (const auto& [key, value] : found.asked)
    if (!here.contains(key)) compare(key, value, "nothing");
  if (!differences.empty())
    fail(ErrorKind::config, "'{}' is of another run: {}", checkpoint.string(), differences);
}

void check_tensors(const fs::path& path, const CheckpointManifest& manifest, const Executor& executor) {
  std::map<std::string, const StoredTensor*> stored;
  std::int64_t end = 0;
  for (const StoredTensor& tensor : manifest.tensors) {
    stored[tensor.name] = &tensor;
    if (tensor.offset != end)
      fail(ErrorKind::config, "'{}' is damaged: tensor '{}' does not follow its predecessor", path.string(),
           tensor.name);
    end += tensor.type.bytes();
  }
  if (end != manifest.tensors_bytes)
    fail(ErrorKind::config, "'{}' is damaged: its tensors take {} bytes, tensors_bytes says {}",
         path.string(), end, manifest.tensors_bytes);
  for (const plan::Buffer* buffer : state_buffers(executor)) {
    const auto found = stored.find(buffer->name);
    if (found == stored.end())
      fail(ErrorKind::config, "'{}': tensor '{}' is missing", path.string(), buffer->name);
    const StoredTensor& tensor = *found->second;
    const graph::Role role = executor.graph().value(buffer->value).role;
    if (!(tensor.type == buffer->type) || tensor.role != role)
      fail(ErrorKind::config, "'{}': tensor '{}' is {} ({}), {} ({}) expected", path.string(), tensor.name,
           tensor.type.to_string(), graph::name(tensor.role), buffer->type.to_string(), graph::name(role));
    stored.erase(found);
  }
  if (!stored.empty())
    fail(ErrorKind::config, "'{}': tensor '{}' is not one of this network", path.string(),
         stored.begin()->first);
}

// Reads those of `tensors`, in the order of the file.
void read_tensors(const fs::path& path, const CheckpointManifest& manifest,
                  const std::vector<StoredTensor>& tensors, Executor& executor) {
  std::error_code code;
  const auto bytes = static_cast<std::int64_t>(fs::file_size(path, code));
  if (code) fail(ErrorKind::config, "cannot read '{}': {}", path.string(), code.message());
  if (bytes != manifest.tensors_bytes)
    fail(ErrorKind::config, "'{}' is {}: {} bytes found, {} expected", path.string(),
         bytes < manifest.tensors_bytes ? "truncated" : "too long", bytes, manifest.tensors_bytes);
  std::ifstream file(path, std::ios::binary);
  const AlignedBuffer chunk(static_cast<std::size_t>(kChunkBytes));
  AlignedBuffer staging;
  for (const StoredTensor& tensor : tensors) {
    file.seekg(tensor.offset);
    const auto id = static_cast<std::size_t>(executor.plan().find_buffer(tensor.name));
    const plan::Buffer& buffer = executor.plan().buffers[id];
    const PlainOrder order(buffer.layout, buffer.type.shape, buffer.type.dtype);
    std::uint32_t sum = 0;
    executor.make(
        buffer,
        [&](std::byte* memory) {
          in_chunks(buffer.type, [&](std::int64_t begin, std::int64_t end, std::size_t wanted) {
            if (!file.read(reinterpret_cast<char*>(chunk.data()), static_cast<std::streamsize>(wanted)))
              fail(ErrorKind::io, "reading '{}' broke off", path.string());
            sum = crc32c(chunk.data(), wanted, sum);
            order.scatter(chunk.data(), begin, end, memory);
          });
        },
        staging);
    if (sum != tensor.crc32c)
      fail(ErrorKind::config, "'{}' is damaged: checksum mismatch in tensor '{}'", path.string(),
           tensor.name);
  }
}

}  // namespace

std::filesystem::path save_checkpoint(const Executor& executor, const CheckpointHeader& header,
                                      const SaveOptions& options) {
  make_folders(options.folder);
  remove_leftovers(options.folder);
  const fs::path checkpoint = options.folder / fmt::format("{}{:08}", kPrefix, header.step);
  const fs::path aside = aside_of(checkpoint);
  RemovedUnlessKept guard(aside);
  make_folders(aside);
  CheckpointManifest manifest = write_tensors(executor, aside / kTensors);
  manifest.header = header;
  AtomicFile file(aside / kManifest);
  file.write(manifest_to_text(manifest));
  file.commit();
  if (::rename(aside.c_str(), checkpoint.c_str()) != 0)
    fail(ErrorKind::io, "cannot write '{}': {}", checkpoint.string(), std::strerror(errno));
  guard.keep();
  sync_folder(options.folder);
  prune(options.folder, options.keep);
  return checkpoint;
}

std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& folder) {
  std::vector<fs::path> found;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(folder, code))
    if (step_of(entry.path()) && entry.is_directory(code)) found.push_back(entry.path());
  std::sort(found.begin(), found.end(),
            [](const fs::path& a, const fs::path& b) { return *step_of(a) < *step_of(b); });
  return found;
}

std::optional<std::filesystem::path> latest_checkpoint(const std::filesystem::path& folder) {
  const std::vector<fs::path> all = list_checkpoints(folder);
  return all.empty() ? std::nullopt : std::optional(all.back());
}

CheckpointManifest read_manifest(const std::filesystem::path& checkpoint) {
  const fs::path path = checkpoint / kManifest;
  const std::vector<std::byte> text = read_file(path);
  return parse_manifest({reinterpret_cast<const char*>(text.data()), text.size()}, path);
}

CheckpointHeader load_checkpoint(const std::filesystem::path& checkpoint, const CheckpointHeader& wanted,
                                 Executor& executor) {
  const CheckpointManifest manifest = read_manifest(checkpoint);
  check_same_run(checkpoint, manifest.header, wanted);
  check_tensors(checkpoint / kManifest, manifest, executor);
  read_tensors(checkpoint / kTensors, manifest, manifest.tensors, executor);
  return manifest.header;
}

void load_parameters(const std::filesystem::path& checkpoint, Executor& executor) {
  const CheckpointManifest manifest = read_manifest(checkpoint);
  std::vector<StoredTensor> wanted;
  for (const StoredTensor& tensor : manifest.tensors) {
    const int id = executor.plan().find_buffer(tensor.name);
    if (tensor.role != graph::Role::parameter || id < 0) continue;
    const plan::Buffer& buffer = executor.plan().buffers[static_cast<std::size_t>(id)];
    if (!(tensor.type == buffer.type))
      fail(ErrorKind::config, "'{}': tensor '{}' is {}, {} expected", checkpoint.string(), tensor.name,
           tensor.type.to_string(), buffer.type.to_string());
    wanted.push_back(tensor);
  }
  if (const auto parameters = executor.graph().values_with(graph::Role::parameter).size();
      wanted.size() != parameters)
    fail(ErrorKind::config, "'{}' has {} of the {} parameters of this network", checkpoint.string(),
         wanted.size(), parameters);
  read_tensors(checkpoint / kTensors, manifest, wanted, executor);
  executor.parameters_changed();
}

}  // namespace trainyard::engine
