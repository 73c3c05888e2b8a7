#include "ps/server/state.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace trainyard::ps {

std::vector<float> part_of(std::span<const float> array, const std::vector<Key>& keys, int server) {
  std::vector<float> part;
  for (const Key& key : keys)
    if (key.server == server) part.insert(part.end(), array.begin() + key.first, array.begin() + key.end());
  return part;
}

void put_part(std::span<const float> part, const std::vector<Key>& keys, int server, std::span<float> array) {
  auto from = part.begin();
  for (const Key& key : keys) {
    if (key.server != server) continue;
    TRAINYARD_CHECK(part.end() - from >= key.elements);
    std::copy(from, from + key.elements, array.begin() + key.first);
    from += key.elements;
  }
}

namespace {

constexpr char kMagic[8] = {'T', 'Y', 's', 'h', 'a', 'r', 'd', '\0'};
constexpr std::uint32_t kFormat = 1;
constexpr std::size_t kPage = 4096;

// Updates take 40 bits, the two numbers 12 each.
constexpr int kNumberBits = 12;
constexpr std::uint64_t kNumbers = (1 << kNumberBits) - 1;

std::size_t whole_pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

std::size_t bytes_of(std::int64_t floats) {
  return whole_pages(static_cast<std::size_t>(floats) * sizeof(float));
}

std::byte* map_memory(const std::filesystem::path& file, std::size_t bytes) {
  int descriptor = -1;
  if (!file.empty()) {
    descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (descriptor < 0) fail(ErrorKind::io, "cannot open '{}': {}", file.string(), std::strerror(errno));
    struct stat status {};
    ::fstat(descriptor, &status);
    // A file of another length belongs to another run: none of it may be taken for this run's state.
    const bool fits = static_cast<std::size_t>(status.st_size) == bytes;
    if ((!fits && ::ftruncate(descriptor, 0) != 0) ||
        ::ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) {
      ::close(descriptor);
      fail(ErrorKind::io, "cannot make '{}' {} bytes long: {}", file.string(), bytes, std::strerror(errno));
    }
  }
  void* memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
             file.empty() ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED, descriptor, 0);
  const int error = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (memory == MAP_FAILED)
    fail(ErrorKind::io, "cannot map {} bytes of '{}': {}", bytes, file.string(), std::strerror(error));
  return static_cast<std::byte*>(memory);
}

}  // namespace

StateMemory::StateMemory(const std::filesystem::path& file, const Sizes& sizes) : sizes_(sizes) {
  TRAINYARD_CHECK(sizes.versions >= 2 && static_cast<std::uint64_t>(sizes.versions) <= kNumbers);
  tags_at_ = whole_pages(sizeof(Head)) + whole_pages(2 * sizeof(Ledger));
  parameters_at_ = tags_at_ + whole_pages(static_cast<std::size_t>(sizes.gradients) * sizeof(Tag));
  slots_at_ = parameters_at_ + static_cast<std::size_t>(sizes.versions) * bytes_of(sizes.elements);
  gradients_at_ = slots_at_ + 2 * bytes_of(sizes.elements * sizes.slots);
  bytes_ = gradients_at_ + static_cast<std::size_t>(sizes.gradients) * bytes_of(sizes.elements);
  memory_ = map_memory(file, bytes_);
  head_ = reinterpret_cast<Head*>(memory_);
  ledgers_ = reinterpret_cast<Ledger*>(memory_ + whole_pages(sizeof(Head)));
  tags_ = reinterpret_cast<Tag*>(memory_ + tags_at_);
  if (has_begun() && std::memcmp(head_->magic, kMagic, sizeof kMagic) == 0 && head_->format == kFormat &&
      head_->sizes == sizes)
    return;
  head_->begun = 0;
  std::memset(memory_, 0, parameters_at_);
  std::memcpy(head_->magic, kMagic, sizeof kMagic);
  head_->format = kFormat;
  head_->sizes = sizes;
}

StateMemory::~StateMemory() { ::munmap(memory_, bytes_); }

std::span<float> StateMemory::floats(std::size_t offset, std::int64_t count) const {
  return {reinterpret_cast<float*>(memory_ + offset), static_cast<std::size_t>(count)};
}

std::vector<std::span<float>> StateMemory::parameters() const {
  std::vector<std::span<float>> all;
  for (int i = 0; i < sizes_.versions; ++i)
    all.push_back(
        floats(parameters_at_ + static_cast<std::size_t>(i) * bytes_of(sizes_.elements), sizes_.elements));
  return all;
}

std::span<float> StateMemory::slots(int copy) const {
  const std::int64_t count = sizes_.elements * sizes_.slots;
  return floats(slots_at_ + static_cast<std::size_t>(copy) * bytes_of(count), count);
}

StateMemory::Version StateMemory::version() const {
  const std::uint64_t word = head_->version.load(std::memory_order_acquire);
  return {.updates = static_cast<std::int64_t>(word >> (2 * kNumberBits)),
          .parameters = static_cast<int>(word >> kNumberBits & kNumbers),
          .slots = static_cast<int>(word & kNumbers)};
}

void StateMemory::set_version(const Version& version) {
  head_->version.store(static_cast<std::uint64_t>(version.updates) << (2 * kNumberBits) |
                           static_cast<std::uint64_t>(version.parameters) << kNumberBits |
                           static_cast<std::uint64_t>(version.slots),
                       std::memory_order_release);
}

void StateMemory::count_update() {
  head_->version.fetch_add(std::uint64_t{1} << (2 * kNumberBits), std::memory_order_acq_rel);
}

void StateMemory::set_ledger(const Ledger& ledger) {
  const std::uint32_t other = 1 - head_->ledger.load(std::memory_order_relaxed);
  ledgers_[other] = ledger;
  head_->ledger.store(other, std::memory_order_release);
}

std::vector<std::span<float>> StateMemory::gradients() const {
  std::vector<std::span<float>> all;
  for (int i = 0; i < sizes_.gradients; ++i)
    all.push_back(
        floats(gradients_at_ + static_cast<std::size_t>(i) * bytes_of(sizes_.elements), sizes_.elements));
  return all;
}

void StateMemory::keep_gradient(int number, std::uint32_t worker, std::uint64_t clock) {
  Tag& tag = tags_[number];
  tag.worker = worker;
  tag.clock = clock;
  tag.kept.store(1, std::memory_order_release);
}

void StateMemory::drop_gradient(int number) { tags_[number].kept.store(0, std::memory_order_release); }

std::span<const float> StateMemory::kept_gradient(std::uint32_t worker, std::uint64_t clock) const {
  for (int i = 0; i < sizes_.gradients; ++i) {
    const Tag& tag = tags_[i];
    if (tag.kept.load(std::memory_order_acquire) != 0 && tag.worker == worker && tag.clock == clock)
      return floats(gradients_at_ + static_cast<std::size_t>(i) * bytes_of(sizes_.elements), sizes_.elements);
  }
  return {};
}

void StateMemory::drop_all_gradients() {
  for (int i = 0; i < sizes_.gradients; ++i) drop_gradient(i);
}

}  // namespace trainyard::ps
