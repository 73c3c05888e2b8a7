#include "ensemble/shared_stream.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <new>

#include "base/futex.h"

namespace trainyard::ensemble {
namespace {

constexpr std::uint64_t kStreamMagic = 0x31303053'54594e54;  // TNYTS001
constexpr double kLookSeconds = 0.1;                         // at the others' health

enum State : std::int32_t { awaited, reading, gone };

// Each on a cache line of its own: readers write them all the time.
struct alignas(64) Cursor {
  std::atomic<std::uint64_t> taken{0};  // blocks given back
  std::atomic<std::int32_t> state{awaited};
  std::atomic<pid_t> process{0};
};

// The location of the samples in a GPU's memory.
struct GpuPlace {
  char pci_address[32], shared[160];
};
constexpr std::size_t kMostGpus = 16;

void copy_text(const std::string& text, std::span<char> to) {
  TRAINYARD_CHECK(text.size() < to.size());
  std::copy_n(text.c_str(), text.size() + 1, to.begin());
}

bool lives(pid_t process) { return ::kill(process, 0) == 0 || errno != ESRCH; }

}  // namespace

struct SharedControl {
  std::uint64_t magic = kStreamMagic;
  SampleBlock::Sizes sizes;
  std::int64_t slots = 0, readers = 0;
  pid_t writer = 0;
  std::array<GpuPlace, kMostGpus> gpus{};  // an empty address ends them
  std::atomic<std::int32_t> ended{0};
  alignas(64) std::atomic<std::uint64_t> written{0};
  std::atomic<std::uint32_t> published{0};  // changes with it, for those who sleep
  alignas(64) std::atomic<std::uint32_t> returned{0};

  static std::size_t bytes(const SampleBlock::Sizes& sizes, std::int64_t slots, std::int64_t readers) {
    return slots_at(readers) + static_cast<std::size_t>(slots) * sizes.block_bytes();
  }
  static std::size_t slots_at(std::int64_t readers) {
    return align_up(sizeof(SharedControl)) + static_cast<std::size_t>(readers) * sizeof(Cursor);
  }

  std::byte* memory() { return reinterpret_cast<std::byte*>(this); }
  Cursor& cursor(int reader) {
    return reinterpret_cast<Cursor*>(memory() + align_up(sizeof(SharedControl)))[reader];
  }
  std::size_t slot(std::uint64_t number) const {
    return static_cast<std::size_t>(number % static_cast<std::uint64_t>(slots));
  }
  SampleBlock block(std::uint64_t number) {
    return {sizes, memory() + slots_at(readers) + slot(number) * sizes.block_bytes()};
  }
  // In a GPU's memory samples lie side by side.
  std::int64_t gpu_index(std::uint64_t number) const {
    return static_cast<std::int64_t>(slot(number)) * sizes.capacity;
  }
  void tell(std::atomic<std::uint32_t>& word) {
    word.fetch_add(1);
    wake_all(word);
  }
};

namespace {

std::shared_ptr<SharedControl> map(int descriptor, std::size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED)
    fail(ErrorKind::io, "cannot map {} bytes of shared memory: {}", bytes, std::strerror(errno));
  return {static_cast<SharedControl*>(memory), [bytes](SharedControl* control) { ::munmap(control, bytes); }};
}

}  // namespace

SharedStream::SharedStream(const SampleBlock::Sizes& sizes, int slots, int readers,
                           const std::vector<std::shared_ptr<backend::Device>>& gpus)
    : remarked_(static_cast<std::size_t>(readers)) {
  TRAINYARD_CHECK(slots > 0 && readers > 0);
  const std::size_t bytes = SharedControl::bytes(sizes, slots, readers);
  // Kept open: readers find the memory by this process and descriptor.
  const int descriptor = ::memfd_create("trainyard ensemble", MFD_CLOEXEC);
  if (descriptor < 0 || ::ftruncate(descriptor, static_cast<off_t>(bytes)) != 0)
    fail(ErrorKind::io, "cannot get {} bytes of shared memory: {}", bytes, std::strerror(errno));
  const std::shared_ptr<SharedControl> mapped = map(descriptor, bytes);
  control_ = {mapped.get(), [mapped, descriptor](SharedControl*) { ::close(descriptor); }};
  new (control_.get())
      SharedControl{.sizes = sizes, .slots = slots, .readers = readers, .writer = ::getpid()};
  for (int reader = 0; reader < readers; ++reader) new (&control_->cursor(reader)) Cursor;
  TRAINYARD_CHECK(gpus.size() < kMostGpus);
  for (const auto& gpu : gpus) {
    GpuPlace& place = control_->gpus[gpu_copies_.size()];
    backend::DeviceMemory samples(gpu, static_cast<std::size_t>(slots * sizes.capacity * sizes.sample_bytes));
    copy_text(gpu->pci_address(), place.pci_address);
    copy_text(gpu->share(samples.data()), place.shared);
    gpu_copies_.push_back({gpu, std::move(samples)});
  }
  address_ = fmt::format("/proc/{}/fd/{}", ::getpid(), descriptor);
}

SharedStream::~SharedStream() { end(); }

bool SharedStream::is_reading(int reader) const { return control_->cursor(reader).state != gone; }

int SharedStream::readers_left() const {
  int left = 0;
  for (int reader = 0; reader < control_->readers; ++reader) left += is_reading(reader) ? 1 : 0;
  return left;
}

std::optional<int> SharedStream::slowest() const {
  std::optional<int> found;
  std::uint64_t least = ~std::uint64_t{0};
  for (int reader = 0; reader < control_->readers; ++reader) {
    const Cursor& cursor = control_->cursor(reader);
    if (cursor.state == gone || cursor.taken >= least) continue;
    least = cursor.taken;
    found = reader;
  }
  const bool full = found && control_->written - least >= static_cast<std::uint64_t>(control_->slots);
  return full ? found : std::nullopt;
}

SampleBlock SharedStream::next(const Patience& patience,
                               const std::function<void(const std::string&)>& remark) {
  double deadline = now_seconds() + patience.seconds;
  std::uint64_t seen_taken = ~std::uint64_t{0};
  while (true) {
    const std::uint32_t seen = control_->returned;
    const std::optional<int> late = slowest();
    if (!late) break;
    Cursor& cursor = control_->cursor(*late);
    if (cursor.taken != seen_taken) {  // it moves: its time begins anew
      seen_taken = cursor.taken;
      deadline = now_seconds() + patience.seconds;
    }
    const bool dead = cursor.state == reading && !lives(cursor.process);
    if (dead || now_seconds() > deadline) {
      const std::string what =
          dead ? fmt::format("member {} is gone (process {})", *late, cursor.process.load())
               : fmt::format("member {} took no samples for {:.0f} s", *late, patience.seconds);
      if (patience.then == Lost::abort) fail(ErrorKind::peer, "{}", what);
      if (!remarked_[static_cast<std::size_t>(*late)])
        remark(what + (patience.then == Lost::drop ? "; going on without it" : "; waiting"));
      remarked_[static_cast<std::size_t>(*late)] = true;
      if (patience.then == Lost::drop) {
        cursor.state = gone;
        continue;
      }
    }
    wait_while(control_->returned, seen, kLookSeconds);
  }
  SampleBlock block = control_->block(control_->written);
  block.clear();
  return block;
}

void SharedStream::publish() {
  const std::uint64_t number = control_->written;
  const SampleBlock block = control_->block(number);
  const std::int64_t sample_bytes = block.sizes().sample_bytes;
  for (GpuCopy& copy : gpu_copies_)
    copy.gpu->write(copy.samples.data() + control_->gpu_index(number) * sample_bytes, block.pixels(0),
                    static_cast<std::size_t>(block.count() * sample_bytes));
  control_->written.fetch_add(1);
  control_->tell(control_->published);
}

void SharedStream::end() {
  control_->ended = 1;
  control_->tell(control_->published);
}

SharedReader::SharedReader(const std::string& address, int reader) : reader_(reader) {
  const int descriptor = ::open(address.c_str(), O_RDWR | O_CLOEXEC);
  struct stat file {};
  if (descriptor < 0 || ::fstat(descriptor, &file) != 0 ||
      file.st_size < static_cast<off_t>(sizeof(SharedControl))) {
    const int reason = errno;
    if (descriptor >= 0) ::close(descriptor);
    fail(ErrorKind::peer, "no stream of samples at '{}': {}", address, std::strerror(reason));
  }
  try {
    control_ = map(descriptor, static_cast<std::size_t>(file.st_size));
  } catch (...) {
    ::close(descriptor);
    throw;
  }
  ::close(descriptor);
  if (control_->magic != kStreamMagic || reader < 0 || reader >= control_->readers)
    fail(ErrorKind::peer, "'{}' is no stream of samples with a place for member {}", address, reader);
  Cursor& own = control_->cursor(reader);
  std::int32_t state = awaited;
  const bool is_free = own.state.compare_exchange_strong(state, reading) ||
                       (state == reading && !lives(own.process));  // it comes again, and goes on where it was
  if (!is_free) fail(ErrorKind::peer, "the place of member {} is taken, or it was dropped", reader);
  own.process = ::getpid();
  given_ = own.taken;
}

SharedReader::~SharedReader() { leave(); }

void SharedReader::leave() {
  control_->cursor(reader_).state = gone;
  control_->tell(control_->returned);
}

std::optional<SampleBlock> SharedReader::next(double patience_seconds) {
  const Cursor& own = control_->cursor(reader_);
  const double began = now_seconds();
  while (true) {
    const std::uint32_t seen = control_->published;
    if (own.state == gone) fail(ErrorKind::peer, "member {} was too slow, and was dropped", reader_);
    if (control_->written > given_) break;
    if (control_->ended != 0) return std::nullopt;
    if (!lives(control_->writer))
      fail(ErrorKind::peer, "the preprocessor is gone (process {})", control_->writer);
    if (now_seconds() - began > patience_seconds)
      fail(ErrorKind::peer, "no samples from the preprocessor (process {}) for {:.0f} s", control_->writer,
           patience_seconds);
    wait_while(control_->published, seen, kLookSeconds);
  }
  wait_seconds_.store(wait_seconds_ + (now_seconds() - began));
  return control_->block(given_++);
}

std::string SharedReader::gpu_copy(const std::string& pci_address) const {
  for (const GpuPlace& place : control_->gpus)
    if (place.pci_address[0] != 0 && pci_address == place.pci_address) return place.shared;
  return "";
}

std::int64_t SharedReader::gpu_index() const { return control_->gpu_index(given_ - 1); }

QueueFill SharedReader::fill() const {
  const std::uint64_t taken = control_->cursor(reader_).taken, written = control_->written;
  const auto block_bytes = static_cast<std::int64_t>(control_->sizes.block_bytes());
  const auto items = static_cast<std::int64_t>(written - taken);
  return {.items = items,
          .bytes = items * block_bytes,
          .most_items = control_->slots,
          .most_bytes = control_->slots * block_bytes,
          .pushed = static_cast<std::int64_t>(written),
          .popped = static_cast<std::int64_t>(taken),
          .pop_wait_seconds = wait_seconds_};
}

void SharedReader::release() {
  control_->cursor(reader_).taken.fetch_add(1);
  control_->tell(control_->returned);
}

}  // namespace trainyard::ensemble
