#include "backend/device.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/parallel.h"
#include "base/text.h"

namespace trainyard::backend {
namespace {

constexpr std::size_t kPage = 4096, kHugePage = std::size_t{2} << 20;

std::size_t mapped_bytes(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

// Zeroed pages from the system, in huge pages where the system grants them.
class HostDevice final : public Device {
 public:
  std::string name() const override { return "cpu"; }
  bool is_host() const override { return true; }

  std::byte* allocate(std::size_t bytes) override {
    if (bytes == 0) return nullptr;
    const std::size_t size = mapped_bytes(bytes);
    const bool huge = bytes >= kHugePage;
    // The kernel aligns large anonymous mappings by itself only in newer versions: ask for room to align in.
    void* mapping = ::mmap(nullptr, size + (huge ? kHugePage : 0), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED)
      fail(ErrorKind::device, "cpu: out of memory: {} asked for one region of the plan, {} free",
           format_bytes(static_cast<std::int64_t>(bytes)),
           format_bytes(std::int64_t{::sysconf(_SC_AVPHYS_PAGES)} * ::sysconf(_SC_PAGESIZE)));
    auto* data = static_cast<std::byte*>(mapping);
    if (!huge) return data;
    const std::size_t skip = (kHugePage - reinterpret_cast<std::uintptr_t>(data) % kHugePage) % kHugePage;
    if (skip > 0) ::munmap(data, skip);
    if (skip < kHugePage) ::munmap(data + skip + size, kHugePage - skip);
    ::madvise(data + skip, size, MADV_HUGEPAGE);
    return data + skip;
  }

  void release(std::byte* memory, std::size_t bytes) noexcept override {
    if (memory != nullptr) ::munmap(memory, mapped_bytes(bytes));
  }

  void write(std::byte* to, const void* from, std::size_t bytes) override {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }
  void read(const std::byte* from, void* to, std::size_t bytes) override {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }
  void clear(std::byte* to, std::size_t bytes) override {
    constexpr std::int64_t kChunk = 1 << 20;
    parallel_chunks(static_cast<std::int64_t>(bytes), kChunk, [&](std::int64_t begin, std::int64_t end, int) {
      std::memset(to + begin, 0, static_cast<std::size_t>(end - begin));
    });
  }
  void wait() override {}
  void fill_random(std::byte* to, std::size_t elements, DType dtype) override {
    const Philox random(1, 0);
    for (std::size_t i = 0; i < elements; ++i) {
      const float number = to_unit_float(random.word(i)) * 2 - 1;
      if (dtype == DType::f32) reinterpret_cast<float*>(to)[i] = number;
      if (dtype == DType::f64) reinterpret_cast<double*>(to)[i] = number;
      if (dtype == DType::i32) reinterpret_cast<std::int32_t*>(to)[i] = number > 0 ? 1 : 0;
      if (dtype == DType::u8) reinterpret_cast<std::uint8_t*>(to)[i] = number > 0 ? 1 : 0;
    }
  }

  double time(const std::function<void()>& enqueue) override {
    const double start = now_seconds();
    enqueue();
    return now_seconds() - start;
  }
};

// Serves a device that cannot record: the host starts each work.
class OneByOne final : public Timeline {
 public:
  OneByOne(Device& device, Device::Works works) : device_(device), works_(std::move(works)) {}

  std::vector<double> run() override {
    std::vector<double> moments{now_seconds()};
    for (const std::function<void()>& work : works_) {
      work();
      device_.wait();
      moments.push_back(now_seconds());
    }
    return moments;
  }

 private:
  Device& device_;
  Device::Works works_;
};

}  // namespace

void Device::clear(std::byte* to, std::size_t bytes) {
  constexpr std::size_t kPiece = std::size_t{1} << 16;
  static constexpr std::byte kZeros[kPiece] = {};
  for (std::size_t done = 0; done < bytes; done += kPiece)
    write(to + done, kZeros, std::min(kPiece, bytes - done));
}

std::byte* Device::open(const std::string&) {
  fail(ErrorKind::device, "{}: has no memory that processes share", name());
}

std::unique_ptr<Timeline> Device::make_timeline(const Works& works) {
  return std::make_unique<OneByOne>(*this, works);
}

std::shared_ptr<Device> host_device() {
  static const auto device = std::make_shared<HostDevice>();
  return device;
}

}  // namespace trainyard::backend
