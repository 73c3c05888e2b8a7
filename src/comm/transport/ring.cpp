#include "comm/transport/ring.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

// Who falls asleep says so and then looks once more; who tells its place does that and then looks whether the
// other sleeps. All four are in one order that both sides agree on (seq_cst), so one of the two notices.
namespace trainyard::comm::transport {
namespace {

static_assert((kRingBytes & (kRingBytes - 1)) == 0);

std::uint64_t checked_distance(std::uint64_t ahead, std::uint64_t behind) {
  if (ahead - behind > kRingBytes)
    fail(ErrorKind::peer, "the peer's place in shared memory cannot be: {} written, {} read", ahead, behind);
  return ahead - behind;
}

// Where a place lies in the ring, and how many bytes follow before it begins again.
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
