#include "comm/transport/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <new>

#include "base/error.h"
#include "base/file.h"

namespace trainyard::comm::transport {

namespace {

// A page for the two controls, then the rings. No multiple of a huge page: a file of those is never taken.
constexpr std::size_t kControlBytes = 4096, kMemoryBytes = kControlBytes + 2 * kRingBytes;
static_assert(2 * sizeof(RingControl) <= kControlBytes);
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
constexpr char kOffer[] = {'T', 'Y', 'S', 'M'};

// A message of four bytes that a descriptor comes with.
struct Message {
  Message() {
    header.msg_iov = &text_part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    // Not CMSG_SPACE: that would take a second one, and lose it.
    header.msg_controllen = CMSG_LEN(sizeof(int));
  }

  char text[sizeof kOffer] = {};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  iovec text_part{text, sizeof text};
  msghdr header{};
};

void send_descriptor(int socket, int descriptor) {
  Message message;
  std::memcpy(message.text, kOffer, sizeof kOffer);
  cmsghdr* const part = CMSG_FIRSTHDR(&message.header);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(sizeof descriptor);
  std::memcpy(CMSG_DATA(part), &descriptor, sizeof descriptor);
  if (::sendmsg(socket, &message.header, MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof kOffer))
    fail(ErrorKind::io, "cannot hand over shared memory: {}", std::strerror(errno));
}

int receive_descriptor(int socket) {
  Message message;
  const ssize_t bytes = ::recvmsg(socket, &message.header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  int descriptor = -1;
  const cmsghdr* const part = bytes < 0 ? nullptr : CMSG_FIRSTHDR(&message.header);
  if (part != nullptr && part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS &&
      part->cmsg_len == CMSG_LEN(sizeof descriptor))
    std::memcpy(&descriptor, CMSG_DATA(part), sizeof descriptor);
  return descriptor;
}

}  // namespace

void SharedMemory::Unmap::operator()(std::byte* memory) const { ::munmap(memory, kMemoryBytes); }

SharedMemory SharedMemory::map(int descriptor) {
  void* const memory =
      ::mmap(nullptr, kMemoryBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor, 0);
  if (memory == MAP_FAILED) fail(ErrorKind::io, "cannot map shared memory: {}", std::strerror(errno));
  return SharedMemory(static_cast<std::byte*>(memory));
}

SharedMemory SharedMemory::offer(int socket) {
  const Descriptor file(::memfd_create("trainyard connection", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  // Allocated now: a page that is wanted later and cannot be had would kill the process.
  if (file.number() < 0 || ::fallocate(file.number(), 0, 0, kMemoryBytes) != 0 ||
      ::fcntl(file.number(), F_ADD_SEALS, kSeals) != 0)
    fail(ErrorKind::io, "cannot make {} bytes of shared memory: {}", kMemoryBytes, std::strerror(errno));
  SharedMemory memory = map(file.number());
  new (memory.memory_.get()) RingControl[2];
  send_descriptor(socket, file.number());
  return memory;
}

SharedMemory SharedMemory::take(int socket) {
  const Descriptor file(receive_descriptor(socket));
  if (file.number() < 0) fail(ErrorKind::peer, "it offered no shared memory");
  struct stat facts {};
  const int seals = ::fcntl(file.number(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || ::fstat(file.number(), &facts) != 0)
    fail(ErrorKind::peer, "it offered memory that could shrink");
  if (facts.st_size != static_cast<off_t>(kMemoryBytes))
    fail(ErrorKind::peer, "it offered {} bytes of shared memory, {} are expected", facts.st_size,
         kMemoryBytes);
  return map(file.number());
}

Ring SharedMemory::ring(Direction direction) const {
  const auto which = static_cast<std::size_t>(direction);
  auto* const controls = reinterpret_cast<RingControl*>(memory_.get());
  return {controls[which], memory_.get() + kControlBytes + which * kRingBytes};
}

// A side that falls asleep announces it and then checks once more; a side that publishes its position does so
// and then checks whether the other sleeps. All four accesses are in one total order (seq_cst), so at least
// one of the two sides notices.

namespace {

static_assert((kRingBytes & (kRingBytes - 1)) == 0);

std::uint64_t checked_distance(std::uint64_t ahead, std::uint64_t behind) {
  if (ahead - behind > kRingBytes)
    fail(ErrorKind::peer, "the peer's position in shared memory is impossible: {} written, {} read", ahead,
         behind);
  return ahead - behind;
}

// at() returns the offset of a position in the ring; straight() returns how many bytes follow before it
// wraps.
std::size_t at(std::uint64_t place) { return place & (kRingBytes - 1); }
std::size_t straight(std::uint64_t place, std::size_t count) {
  return std::min(count, kRingBytes - at(place));
}

bool claim(std::atomic<std::uint32_t>& waits) { return waits.load() != 0 && waits.exchange(0) != 0; }

}  // namespace

std::size_t RingWriter::room() {
  if (place_ - read_ < kRingBytes) return kRingBytes - (place_ - read_);
  const std::uint64_t read = control_.read.load();
  const std::uint64_t used = checked_distance(place_, read);
  read_ = read;
  return kRingBytes - used;
}

void RingWriter::put(std::span<const std::byte> piece) {
  const std::size_t first = straight(place_, piece.size());
  std::memcpy(bytes_ + at(place_), piece.data(), first);
  if (first < piece.size()) std::memcpy(bytes_, piece.data() + first, piece.size() - first);
  place_ += piece.size();
}

bool RingWriter::publish() {
  if (published_ == place_) return false;
  published_ = place_;
  control_.written.store(place_);
  return claim(control_.reader_waits);
}

bool RingWriter::sleep() {
  control_.writer_waits.store(1);
  read_ = place_ - checked_distance(place_, control_.read.load());
  if (place_ - read_ > kRingBytes / 2) return true;
  control_.writer_waits.store(0);
  return false;
}

std::size_t RingReader::available(std::size_t wanted) {
  if (written_ - place_ >= wanted) return written_ - place_;
  const std::uint64_t written = control_.written.load();
  const std::uint64_t count = checked_distance(written, place_);
  written_ = written;
  return count;
}

void RingReader::take(std::span<std::byte> piece) {
  const std::size_t first = straight(place_, piece.size());
  std::memcpy(piece.data(), bytes_ + at(place_), first);
  if (first < piece.size()) std::memcpy(piece.data() + first, bytes_, piece.size() - first);
  place_ += piece.size();
}

bool RingReader::publish() {
  if (published_ == place_) return false;
  published_ = place_;
  control_.read.store(place_);
  // A writer that went on at the first free byte would sleep again at once.
  return control_.written.load() - place_ <= kRingBytes / 2 && claim(control_.writer_waits);
}

bool RingReader::sleep(std::size_t wanted) {
  control_.reader_waits.store(1);
  if (available(wanted) < wanted) return true;
  control_.reader_waits.store(0);
  return false;
}

}  // namespace trainyard::comm::transport
