#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include "base/error.h"
#include "comm/transport/address.h"
#include "comm/transport/listener.h"
#include "comm/transport/stream_connection.h"

namespace trainyard::comm::transport {
namespace {

using boost::system::error_code;
using OnFailure = std::function<void(const std::string& reason)>;

class Attempt : public std::enable_shared_from_this<Attempt> {
 public:
  Attempt(Loop& loop, const Address& address, const JobKey& key, const Hello& hello,
          const ConnectionLimits& limits, OnPeer on_peer, OnFailure on_failure)
      : socket_(loop.context()),
        address_(address),
        handshake_(key, hello),
        limits_(limits),
        on_peer_(std::move(on_peer)),
        on_failure_(std::move(on_failure)),
        deadline_(loop.after(limits.handshake_seconds, [this] { give_up("no answer in time"); })) {}

  void start(const Endpoint& endpoint) {
    socket_.async_connect(endpoint, [self = shared_from_this()](const error_code& error) {
      self->step(error, [&] {
        send_at_once(self->socket_);
        self->say_hello();
      });
    });
  }

  void abandon() {
    on_failure_ = nullptr;
    give_up("");
  }

 private:
  void say_hello() {
    boost::asio::async_write(socket_, boost::asio::buffer(handshake_.hello()),
                             [self = shared_from_this()](const error_code& error, std::size_t) {
                               self->step(error, [&] { self->read_challenge(); });
                             });
  }

  void read_challenge() {
    boost::asio::async_read(socket_, boost::asio::buffer(challenge_),
                            [self = shared_from_this()](const error_code& error, std::size_t) {
                              self->step(error, [&] { self->answer(); });
                            });
  }

  void answer() {
    answer_ = handshake_.answer(challenge_);
    boost::asio::async_write(socket_, boost::asio::buffer(answer_),
                             [self = shared_from_this()](const error_code& error, std::size_t) {
                               self->step(error, [&] {
                                 auto connection = self->connection();
                                 self->open_ = false;
                                 self->deadline_.reset();
                                 self->on_peer_(std::move(connection));
                               });
                             });
  }

  std::unique_ptr<Connection> connection() {
    const std::string address = address_.to_string();
    if (address_.kind != Address::Kind::shared_memory)
      return make_stream_connection(std::move(socket_), {}, address, limits_);
    SharedMemory memory = SharedMemory::offer(socket_.native_handle());
    return make_memory_connection(std::move(socket_), std::move(memory), Side::caller, {}, address, limits_);
  }

  template <typename Work>
  void step(const error_code& error, const Work& work) {
    if (!open_) return;
    if (error) return give_up(error.message());
    try {
      work();
    } catch (const Error& wrong) {
      give_up(wrong.what());
    }
  }

  void give_up(const std::string& reason) {
    if (!open_) return;
    open_ = false;
    deadline_.reset();
    error_code ignored;
    socket_.close(ignored);
    if (on_failure_) std::exchange(on_failure_, nullptr)(fmt::format("{}: {}", address_.to_string(), reason));
  }

  Socket socket_;
  Address address_;
  CallerHandshake handshake_;
  ConnectionLimits limits_;
  OnPeer on_peer_;
  OnFailure on_failure_;
  bool open_ = true;
  std::unique_ptr<Loop::Timer> deadline_;
  ChallengeBytes challenge_{};
  AnswerBytes answer_{};
};

class SocketCall final : public Call {
 public:
  explicit SocketCall(std::shared_ptr<Attempt> attempt) : attempt_(std::move(attempt)) {}
  ~SocketCall() override { attempt_->abandon(); }

 private:
  std::shared_ptr<Attempt> attempt_;
};

}  // namespace

std::unique_ptr<Call> call(Loop& loop, const Address& address, const JobKey* key, const Hello& hello,
                           const ConnectionLimits& limits, OnPeer on_peer, OnFailure on_failure) {
  auto attempt = std::make_shared<Attempt>(loop, address, key != nullptr ? *key : JobKey(), hello, limits,
                                           std::move(on_peer), std::move(on_failure));
  attempt->start(endpoint_of(loop.context(), address));
  return std::make_unique<SocketCall>(std::move(attempt));
}

}  // namespace trainyard::comm::transport
