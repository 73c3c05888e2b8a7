#include "comm/transport/stream_connection.h"

#include <sys/socket.h>

#include <chrono>
#include <iterator>

#include <boost/asio/post.hpp>

#include "base/error.h"
#include "comm/transport/connection.h"
#include "comm/transport/frame.h"

namespace trainyard::comm::transport {
namespace {

using boost::system::error_code;
using Direction = SharedMemory::Direction;
using Clock = std::chrono::steady_clock;

// The peer sees a payload piece by piece, and copies one while this side copies the next. Nobody spins for
// the next one: measured, that gains nothing here, and where cores are few it takes one from the peer.
constexpr std::size_t kPieceBytes = 64 << 10;
constexpr std::size_t kTurnBytes = 1 << 20;

class MemoryStream : public std::enable_shared_from_this<MemoryStream> {
 public:
  MemoryStream(Socket socket, SharedMemory memory, Side side, const ConnectionLimits& limits)
      : socket_(std::move(socket)),
        memory_(std::move(memory)),
        in_(memory_.ring(side == Side::caller ? Direction::to_caller : Direction::to_listener)),
        out_(memory_.ring(side == Side::caller ? Direction::to_listener : Direction::to_caller)),
        limits_(limits),
        heard_(Clock::now()) {}

  // Waits for the peer's wakes, and for its end.
  void watch() {
    socket_.async_read_some(boost::asio::buffer(wakes_),
                            [self = shared_from_this()](const error_code& error, std::size_t) {
                              if (!self->open_) return;
                              if (error)
                                self->gone_ = true;
                              else
                                self->watch();
                              self->turn();
                            });
  }

  void start(Receiver& receiver) {
    receiver_ = &receiver;
    turn_later();
  }

  void send(Frame frame, std::span<const std::byte> payload, std::function<void()> sent) {
    if (!open_ || closing_) return;
    TRAINYARD_CHECK(payload.size() <= limits_.most_payload_bytes);
    frame.payload_crc = 0;
    const bool idle = waiting_.empty();
    waiting_.add(frame, payload, std::move(sent));
    if (!idle) return;  // who writes those will come to this one
    try {
      if (write()) turn_later();
    } catch (const Error& wrong) {
      close(wrong.what(), false);
    }
  }

  void close(const std::string& reason, bool drain) {
    if (!open_ || (closing_ && drain)) return;
    closing_ = true;
    reason_ = reason;
    if (!drain) waiting_.clear();
    turn_later();
  }

  void abandon() {
    receiver_ = nullptr;
    finish("");
  }

  const Traffic& traffic() const { return traffic_; }
  double seconds_since_heard() const { return std::chrono::duration<double>(Clock::now() - heard_).count(); }

 private:
  void turn_later() {
    if (std::exchange(turn_is_posted_, true)) return;
    boost::asio::post(socket_.get_executor(), [self = shared_from_this()] {
      self->turn_is_posted_ = false;
      self->turn();
    });
  }

  // A share of all there is to do; others on this thread come between two.
  void turn() {
    if (!open_) return;
    try {
      report_sent();
      const bool more_to_read = read(), more_to_write = open_ && !gone_ && write();
      if (!open_) return;
      if (closing_ && waiting_.empty()) return finish(reason_);
      if (more_to_read || more_to_write) return turn_later();
      if (gone_ && receiver_ != nullptr) finish(closing_ ? reason_ : "the peer is gone");
    } catch (const Error& wrong) {
      if (wrong.kind() == ErrorKind::internal) throw;  // no peer's fault: who goes on would go on wrong
      finish(wrong.what());
    }
  }

  void report_sent() {
    const auto sent = std::exchange(sent_, {});
    for (const auto& report : sent) report();
  }

  // True: there is more, but enough for one turn.
  bool read() {
    std::size_t taken = 0;
    while (open_ && receiver_ != nullptr && !(closing_ && waiting_.empty())) {
      const std::size_t wanted = has_header_ ? std::min<std::size_t>(rest_.size(), 1) : kFrameBytes;
      const std::size_t available = in_.available(wanted);
      if (available < wanted || taken >= kTurnBytes) {
        if (in_.publish()) wake();
        if (taken > 0) heard_ = Clock::now();
        if (available >= wanted) return true;
        if (in_.sleep(wanted)) return false;
        continue;
      }
      taken += has_header_ ? take_payload(available) : take_header();
      if (in_.unpublished() >= kPieceBytes && in_.publish()) wake();
      if (open_ && has_header_ && rest_.empty()) arrived();
    }
    return false;
  }

  std::size_t take_header() {
    FrameBytes header;
    in_.take(header);
    incoming_ = decode(header, limits_.most_payload_bytes);
    room_ = rest_ = receiver_->room_for(incoming_);
    TRAINYARD_CHECK(room_.size() == incoming_.payload_bytes);
    has_header_ = true;
    return kFrameBytes;
  }

  std::size_t take_payload(std::size_t available) {
    const auto piece = rest_.first(std::min({rest_.size(), available, kPieceBytes}));
    in_.take(piece);
    rest_ = rest_.subspan(piece.size());
    return piece.size();
  }

  void arrived() {
    has_header_ = false;
    traffic_.bytes_received += kFrameBytes + room_.size();
    ++traffic_.frames_received;
    receiver_->arrived(incoming_, room_);
  }

  // True: there is more, but enough for one turn.
  bool write() {
    std::size_t put = 0;
    while (!waiting_.empty() && put < kTurnBytes) {
      const std::size_t room = out_.room();
      if (room == 0) {
        if (out_.publish()) wake();
        if (out_.sleep()) return false;
        continue;
      }
      const auto rest = waiting_.front();
      const auto piece = rest.first(std::min({rest.size(), room, kPieceBytes}));
      out_.put(piece);
      put += piece.size();
      if (out_.unpublished() >= kPieceBytes && out_.publish()) wake();
      copied(piece.size());
    }
    if (out_.publish()) wake();
    return !waiting_.empty();
  }

  void copied(std::size_t bytes) {
    FrameQueue::Sent sent = waiting_.advance(bytes);
    traffic_.bytes_sent += bytes;
    traffic_.frames_sent += sent.frames;
    if (sent.reports.empty()) return;
    std::move(sent.reports.begin(), sent.reports.end(), std::back_inserter(sent_));
    turn_later();  // not from within send()
  }

  // A socket and no eventfd: measured, the system then runs a peer of few bytes on this core, in a third of
  // the time. When it does not fit, the peer has not read the last ones yet. When the peer is gone, the watch
  // sees that.
  void wake() {
    const char any = 0;
    static_cast<void>(::send(socket_.native_handle(), &any, 1, MSG_DONTWAIT | MSG_NOSIGNAL));
  }

  void finish(const std::string& reason) {
    if (!open_) return;
    open_ = false;
    error_code ignored;
    socket_.shutdown(Socket::shutdown_both, ignored);
    socket_.close(ignored);
    waiting_.clear();
    if (Receiver* receiver = std::exchange(receiver_, nullptr)) receiver->closed(reason);
  }

  Socket socket_;
  SharedMemory memory_;
  RingReader in_;
  RingWriter out_;
  ConnectionLimits limits_;
  Receiver* receiver_ = nullptr;
  bool open_ = true, closing_ = false, gone_ = false, turn_is_posted_ = false, has_header_ = false;
  std::string reason_;
  Frame incoming_;
  std::span<std::byte> room_, rest_;  // of the payload, and what of it is still to come
  FrameQueue waiting_;
  std::vector<std::function<void()>> sent_;
  std::array<std::byte, 64> wakes_{};
  Traffic traffic_;
  Clock::time_point heard_;
};

}  // namespace

std::unique_ptr<Connection> make_memory_connection(Socket socket, SharedMemory memory, Side side,
                                                   const Hello& peer, std::string address,
                                                   const ConnectionLimits& limits) {
  auto stream = std::make_shared<MemoryStream>(std::move(socket), std::move(memory), side, limits);
  stream->watch();
  return std::make_unique<ConnectionHandle<MemoryStream>>(std::move(stream), peer, std::move(address));
}

}  // namespace trainyard::comm::transport
