#include "comm/transport/listener.h"

#include <unistd.h>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include "base/error.h"

namespace trainyard::comm::transport {
namespace {

using boost::system::error_code;
using Acceptor = boost::asio::basic_socket_acceptor<boost::asio::generic::stream_protocol>;

// A Stranger is a caller that has shown nothing yet: a socket, fixed buffers and a deadline.
class Stranger : public std::enable_shared_from_this<Stranger> {
 public:
  using Done = std::function<void(const std::shared_ptr<Stranger>&, const std::string& refusal)>;

  Stranger(Loop& loop, Socket socket, Address::Kind kind, const JobKey& key, const ConnectionLimits& limits,
           Done done)
      : socket_(std::move(socket)),
        kind_(kind),
        address_(peer_text(socket_)),
        handshake_(key),
        done_(std::move(done)),
        deadline_(loop.after(limits.handshake_seconds, [this] { end("it said nothing in time"); })) {}

  void start() {
    read(boost::asio::buffer(hello_), [this] {
      challenge_ = handshake_.challenge(hello_);
      boost::asio::async_write(socket_, boost::asio::buffer(challenge_),
                               [self = shared_from_this()](const error_code& error, std::size_t) {
                                 self->step(error, [&] { self->read_answer(); });
                               });
    });
  }

  const std::string& address() const { return address_; }
  std::unique_ptr<Connection> connection(const ConnectionLimits& limits) {
    if (memory_)
      return make_memory_connection(std::move(socket_), std::move(*memory_), Side::listener, peer_, address_,
                                    limits);
    send_at_once(socket_);
    return make_stream_connection(std::move(socket_), peer_, address_, limits);
  }

  void end(const std::string& refusal) {
    if (done_ == nullptr) return;
    deadline_.reset();
    if (!refusal.empty()) {
      error_code ignored;
      socket_.close(ignored);
    }
    // Moved first: what it calls may let go of this object.
    std::exchange(done_, nullptr)(shared_from_this(), refusal);
  }

 private:
  void read_answer() {
    read(boost::asio::buffer(answer_), [this] {
      peer_ = handshake_.accept(answer_);
      if (kind_ == Address::Kind::shared_memory) return wait_for_memory();
      end("");
    });
  }

  void wait_for_memory() {
    socket_.async_wait(Socket::wait_read, [self = shared_from_this()](const error_code& error) {
      self->step(error, [&] {
        self->memory_.emplace(SharedMemory::take(self->socket_.native_handle()));
        self->end("");
      });
    });
  }

  template <typename Buffer, typename Work>
  void read(const Buffer& buffer, Work work) {
    boost::asio::async_read(
        socket_, buffer,
        [self = shared_from_this(), work](const error_code& error, std::size_t) { self->step(error, work); });
  }

  template <typename Work>
  void step(const error_code& error, const Work& work) {
    if (done_ == nullptr) return;
    if (error) return end("it went away during the handshake");
    try {
      work();
    } catch (const Error& wrong) {
      end(wrong.what());
    }
  }

  Socket socket_;
  Address::Kind kind_;
  std::string address_;
  ListenerHandshake handshake_;
  Done done_;
  std::unique_ptr<Loop::Timer> deadline_;
  HelloBytes hello_{};
  ChallengeBytes challenge_{};
  AnswerBytes answer_{};
  Hello peer_;
  std::optional<SharedMemory> memory_;
};

class SocketListener final : public Listener {
 public:
  SocketListener(Loop& loop, const Address& address, const JobKey& key, const ConnectionLimits& limits,
                 OnPeer on_peer, OnRefusal on_refusal)
      : loop_(loop),
        address_(address),
        key_(key),
        limits_(limits),
        on_peer_(std::move(on_peer)),
        on_refusal_(std::move(on_refusal)),
        acceptor_(loop.context()) {
    const Endpoint endpoint = endpoint_of(loop.context(), address);
    if (address.is_path()) ::unlink(address.host.c_str());
    error_code error;
    acceptor_.open(endpoint.protocol(), error);
    if (!error && address.kind == Address::Kind::tcp)
      acceptor_.set_option(boost::asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(boost::asio::socket_base::max_listen_connections, error);
    if (error) fail(ErrorKind::io, "cannot listen at {}: {}", address.to_string(), error.message());
    if (address.kind == Address::Kind::tcp) address_.port = port_of(acceptor_.local_endpoint());
    accept();
  }

  ~SocketListener() override {
    *alive_ = false;
    error_code ignored;
    acceptor_.close(ignored);
    if (address_.is_path()) ::unlink(address_.host.c_str());
    const auto strangers = std::exchange(strangers_, {});
    for (const auto& stranger : strangers) stranger->end("this side ends");
  }

  Address address() const override { return address_; }

 private:
  void accept() {
    acceptor_.async_accept([this, alive = alive_](const error_code& error, Socket socket) {
      if (!*alive) return;
      if (error) {
        // Out of descriptors, most likely: some will be free again.
        retry_ = loop_.after(0.1, [this] { accept(); });
        return;
      }
      greet(std::move(socket));
      accept();
    });
  }

  void greet(Socket socket) {
    // A caller that has the key shows it at once, so the one that has waited longest is the least likely to
    // have it.
    if (static_cast<int>(strangers_.size()) >= limits_.most_strangers)
      strangers_.front()->end(fmt::format("{} others are at the door", strangers_.size()));
    const auto stranger = std::make_shared<Stranger>(
        loop_, std::move(socket), address_.kind, key_, limits_,
        [this, alive = alive_](const std::shared_ptr<Stranger>& who, const std::string& refusal) {
          if (!*alive) return;
          std::erase(strangers_, who);
          if (refusal.empty())
            on_peer_(who->connection(limits_));
          else
            on_refusal_(who->address(), refusal);
        });
    strangers_.push_back(stranger);
    stranger->start();
  }

  Loop& loop_;
  Address address_;
  JobKey key_;
  ConnectionLimits limits_;
  OnPeer on_peer_;
  OnRefusal on_refusal_;
  Acceptor acceptor_;
  std::vector<std::shared_ptr<Stranger>> strangers_;  // the oldest first
  std::unique_ptr<Loop::Timer> retry_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace

std::unique_ptr<Listener> listen(Loop& loop, const Address& address, const JobKey* key,
                                 const ConnectionLimits& limits, OnPeer on_peer, OnRefusal on_refusal) {
  if (key == nullptr && !address.is_local())
    fail(ErrorKind::config,
         "will not listen at {} without a key: others could reach it; give a key file, or an address of this "
         "machine",
         address.to_string());
  return std::make_unique<SocketListener>(loop, address, key != nullptr ? *key : JobKey(), limits,
                                          std::move(on_peer), std::move(on_refusal));
}

void RefusalLog::add(const std::string& who, const std::string& why, double now) {
  look(now);
  if (lines_ == 0) since_ = now;
  if (lines_ == kMostLines) {
    ++unsaid_;
    return;
  }
  ++lines_;
  log_(fmt::format("refused {}: {}", who, why));
}

void RefusalLog::look(double now) {
  if (lines_ == 0 || now - since_ < kSeconds) return;
  if (unsaid_ > 0) log_(fmt::format("refused {} more in {:.0f} s", unsaid_, now - since_));
  lines_ = unsaid_ = 0;
}

}  // namespace trainyard::comm::transport
