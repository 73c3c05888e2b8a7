#include "comm/transport/stream_connection.h"

#include <chrono>

#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include "base/crc32c.h"
#include "base/error.h"

namespace trainyard::comm::transport {
namespace {

using boost::system::error_code;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{1};

std::string text_of(const error_code& error) {
  if (error == boost::asio::error::eof || error == boost::asio::error::connection_reset ||
      error == boost::asio::error::broken_pipe)
    return "the peer is gone";
  return error.message();
}

class Stream : public std::enable_shared_from_this<Stream> {
 public:
  Stream(Socket socket, const ConnectionLimits& limits)
      : socket_(std::move(socket)),
        patience_(socket_.get_executor()),
        limits_(limits),
        heard_(Clock::now()) {}

  void start(Receiver& receiver) {
    receiver_ = &receiver;
    read_frame();
  }

  void send(Frame frame, std::span<const std::byte> payload, std::function<void()> sent) {
    if (!open_ || closing_) return;
    TRAINYARD_CHECK(payload.size() <= limits_.most_payload_bytes);
    frame.payload_crc = crc32c(payload);
    waiting_.add(frame, payload, std::move(sent));
    if (!writing_) write();
  }

  void close(const std::string& reason, bool drain) {
    if (!open_ || (closing_ && drain)) return;
    closing_ = true;
    reason_ = reason;
    if (drain && writing_) return;  // the last write goes on to end_sending()
    boost::asio::post(socket_.get_executor(), [self = shared_from_this(), drain] {
      if (drain)
        self->end_sending();
      else
        self->finish(self->reason_);
    });
  }

  // Its connection is gone: nothing is reported any more.
  void abandon() {
    receiver_ = nullptr;
    finish("");
  }

  const Traffic& traffic() const { return traffic_; }
  double seconds_since_heard() const { return std::chrono::duration<double>(Clock::now() - heard_).count(); }

 private:
  // A read that notes every sign of life but the last, which only guarded() hears of.
  auto whole_and_heard() {
    return [this](const error_code& error, std::size_t bytes) {
      if (bytes > 0) heard_ = Clock::now();
      return kWhole(error, bytes);
    };
  }

  void read_frame() {
    boost::asio::async_read(socket_, boost::asio::buffer(header_), whole_and_heard(),
                            [self = shared_from_this()](const error_code& error, std::size_t) {
                              self->guarded(error, [&] {
                                self->incoming_ = decode(self->header_, self->limits_.most_payload_bytes);
                                self->room_ = self->receiver_->room_for(self->incoming_);
                                TRAINYARD_CHECK(self->room_.size() == self->incoming_.payload_bytes);
                                self->read_payload();
                              });
                            });
  }

  void read_payload() {
    boost::asio::async_read(socket_, boost::asio::buffer(room_.data(), room_.size()), whole_and_heard(),
                            [self = shared_from_this()](const error_code& error, std::size_t) {
                              self->guarded(error, [&] {
                                check_payload(self->incoming_, self->room_);
                                self->traffic_.bytes_received += kFrameBytes + self->room_.size();
                                ++self->traffic_.frames_received;
                                self->receiver_->arrived(self->incoming_, self->room_);
                                if (self->open_) self->read_frame();
                              });
                            });
  }

  template <typename Work>
  void guarded(const error_code& error, const Work& work) {
    if (!open_ || receiver_ == nullptr) return;
    if (error) return finish(closing_ ? reason_ : text_of(error));
    heard_ = Clock::now();
    try {
      work();
    } catch (const Error& wrong) {
      if (wrong.kind() == ErrorKind::internal) throw;  // no peer's fault: who goes on would go on wrong
      finish(wrong.what());
    }
  }

  // All that waits, in one call of the system where it takes that many pieces.
  void write() {
    writing_ = true;
    constexpr std::size_t kMostFrames = 32;
    std::vector<boost::asio::const_buffer> pieces;
    waiting_.for_each_piece(kMostFrames, [&](std::span<const std::byte> piece) {
      pieces.emplace_back(piece.data(), piece.size());
    });
    boost::asio::async_write(socket_, pieces, kWhole,
                             [self = shared_from_this()](const error_code& error, std::size_t bytes) {
                               self->written(error, bytes);
                             });
  }

  void written(const error_code& error, std::size_t bytes) {
    writing_ = false;
    if (!open_) return waiting_.clear();
    if (error) return finish(closing_ ? reason_ : text_of(error));
    const FrameQueue::Sent sent = waiting_.advance(bytes);
    traffic_.bytes_sent += bytes;
    traffic_.frames_sent += sent.frames;
    for (const auto& report : sent.reports) report();
    if (!open_ || writing_) return;  // who heard of it closed it, or sends more
    if (!waiting_.empty()) return write();
    if (closing_) end_sending();
  }

  // All is said. What the peer still sends is read until it ends, too: else it would be told that the
  // connection broke, and could lose what it has not read yet.
  void end_sending() {
    if (!open_) return;
    if (receiver_ == nullptr) return finish(reason_);
    error_code ignored;
    socket_.shutdown(Socket::shutdown_send, ignored);
    patience_.expires_after(kPatience);
    patience_.async_wait([self = shared_from_this()](const error_code& error) {
      if (!error) self->finish(self->reason_);
    });
  }

  void finish(const std::string& reason) {
    if (!open_) return;
    open_ = false;
    error_code ignored;
    socket_.shutdown(Socket::shutdown_both, ignored);
    socket_.close(ignored);
    if (!writing_) waiting_.clear();  // else a write that is broken off still points into it
    patience_.cancel();
    if (Receiver* receiver = std::exchange(receiver_, nullptr)) receiver->closed(reason);
  }

  Socket socket_;
  boost::asio::steady_timer patience_;  // with a peer that does not end
  ConnectionLimits limits_;
  Receiver* receiver_ = nullptr;
  bool open_ = true, closing_ = false, writing_ = false;
  std::string reason_;
  FrameBytes header_{};
  Frame incoming_;
  std::span<std::byte> room_;
  FrameQueue waiting_;  // while writing, the first ones are on their way
  Traffic traffic_;
  Clock::time_point heard_;
};

}  // namespace

std::unique_ptr<Connection> make_stream_connection(Socket socket, const Hello& peer, std::string address,
                                                   const ConnectionLimits& limits) {
  return std::make_unique<ConnectionHandle<Stream>>(std::make_shared<Stream>(std::move(socket), limits), peer,
                                                    std::move(address));
}

}  // namespace trainyard::comm::transport
