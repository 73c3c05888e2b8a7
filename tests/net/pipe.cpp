#include "net/pipe.h"

#include <algorithm>
#include <limits>

#include "net/sockets.h"

namespace trainyard::net_test {
namespace {

constexpr std::size_t kMostHeldBytes = 1 << 20;
constexpr std::size_t kPieceBytes = 128;  // what a piece costs beside its bytes
constexpr double kNever = std::numeric_limits<double>::infinity();
// A throttled way sends what goes in so many seconds at once, and makes up for so many when it was late: not
// for those when nothing was there to send.
constexpr double kGrainSeconds = 0.005, kCatchUpSeconds = 0.1;

}  // namespace

Pipe::Pipe(Script script, const Philox& jitter, Report report)
    : conditions_(script.conditions),
      faults_(script.faults.begin(), script.faults.end()),
      jitter_(jitter),
      report_(std::move(report)) {}

std::size_t Pipe::room() const {
  return held_bytes_ + kPieceBytes < kMostHeldBytes ? kMostHeldBytes - held_bytes_ - kPieceBytes : 0;
}

void Pipe::received(std::span<const std::byte> bytes, double now) {
  if (pieces_.empty()) free_at_ = std::max(free_at_, now);
  held_bytes_ += bytes.size() + kPieceBytes;
  pieces_.push_back({{bytes.begin(), bytes.end()}, now, to_unit_float(jitter_.word(pieces_so_far_++))});
}

void Pipe::ended(double now) {
  held_bytes_ += kPieceBytes;
  pieces_.push_back({.arrived = now, .is_end = true});
}

double Pipe::due(const Piece& piece) const {
  if (piece.inserted) return 0;
  return piece.arrived + conditions_.delay_seconds + conditions_.jitter_seconds * piece.lateness;
}

std::span<const std::byte> Pipe::ready(double now) {
  while (apply_next_fault(now)) {
  }
  if (cut_ || pieces_.empty() || now < stalled_until_) return {};
  const Piece& piece = pieces_.front();
  if (piece.is_end || now < due(piece) || now < free_at_) return {};
  std::size_t count = piece.bytes.size() - piece.done;
  if (!piece.inserted && !faults_.empty() && faults_.front().at_byte > sent_)
    count = std::min<std::size_t>(count, faults_.front().at_byte - sent_);
  if (conditions_.bytes_per_second > 0)
    count = std::min(count, static_cast<std::size_t>(conditions_.bytes_per_second * kGrainSeconds) + 1);
  return std::span(piece.bytes).subspan(piece.done, count);
}

void Pipe::sent(std::size_t count, double now) {
  Piece& piece = pieces_.front();
  piece.done += count;
  if (!piece.inserted) sent_ += count;
  if (conditions_.bytes_per_second > 0)
    free_at_ =
        std::max(free_at_, now - kCatchUpSeconds) + static_cast<double>(count) / conditions_.bytes_per_second;
  if (piece.done < piece.bytes.size()) return;
  held_bytes_ -= piece.bytes.size() + kPieceBytes;
  pieces_.pop_front();
}

bool Pipe::finished(double now) const {
  return !pieces_.empty() && pieces_.front().is_end && now >= due(pieces_.front()) && now >= stalled_until_;
}

double Pipe::next_time() const {
  if (cut_) return kNever;
  if (!pieces_.empty()) return std::max({stalled_until_, due(pieces_.front()), free_at_});
  const bool fault_is_next =
      !faults_.empty() && faults_.front().at_byte <= sent_ && faults_.front().kind != Fault::Kind::flip;
  return fault_is_next ? stalled_until_ : kNever;
}

void Pipe::order(Fault fault) {
  fault.at_byte += sent_;
  const auto behind = std::upper_bound(faults_.begin(), faults_.end(), fault,
                                       [](const Fault& a, const Fault& b) { return a.at_byte < b.at_byte; });
  faults_.insert(behind, fault);
}

bool Pipe::apply_next_fault(double now) {
  if (cut_ || faults_.empty() || faults_.front().at_byte > sent_ || now < stalled_until_) return false;
  if (!pieces_.empty() && pieces_.front().inserted) return false;
  const Fault fault = faults_.front();
  switch (fault.kind) {
    case Fault::Kind::stall:
      stalled_until_ = now + fault.seconds;
      break;
    case Fault::Kind::flip: {
      if (pieces_.empty() || pieces_.front().is_end) return false;  // there is no such byte yet
      pieces_.front().bytes[pieces_.front().done] ^= std::byte{1} << fault.bit;
      break;
    }
    case Fault::Kind::insert:
      if (fault.bytes == 0) break;
      pieces_.push_front({.bytes = noise(fault.seed, fault.bytes), .inserted = true});
      held_bytes_ += fault.bytes + kPieceBytes;
      break;
    case Fault::Kind::fin:
    case Fault::Kind::rst:
      cut_ = fault.kind;
      break;
  }
  faults_.pop_front();
  report_(fault);
  return true;
}

}  // namespace trainyard::net_test
