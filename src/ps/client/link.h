#pragma once

#include "comm/transport/connection.h"
#include "ps/wire/messages.h"
#include "tensor/tensor.h"

namespace trainyard::ps {

// A Link is a server as a worker sees it: reads its messages, straight into the worker's parameters. The
// client decides what follows.
class Link final : public comm::transport::Receiver {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual void welcomed(Link& link) = 0;
    virtual void weights_are_here(Link& link) = 0;
    virtual void lent(Link& link, std::int64_t batch) = 0;
    virtual void all_done(Link& link) = 0;
    // `final`: it may not come back.
    virtual void lost(Link& link, const std::string& reason, bool final) = 0;
  };

  Link(Owner& owner, int server, const std::vector<Key>& keys, std::span<float> parameters,
       std::unique_ptr<comm::transport::Connection> connection);

  int server() const { return server_; }
  comm::transport::Connection& connection() { return *connection_; }

  bool is_welcome() const { return epoch_ != 0; }
  std::uint64_t clock() const { return clock_; }  // of the gradient that the server takes next, when welcomed
  std::int64_t updates() const { return updates_; }
  bool has_weights() const { return has_weights_; }
  double first_came_at() const { return first_came_at_; }  // of these weights

  void send(Kind kind, std::uint64_t clock, std::uint32_t key = 0, std::uint16_t flags = 0,
            std::span<const std::byte> payload = {}, std::function<void()> sent = {});
  // The weights are in use: new ones are waited for.
  void take_weights();

  std::span<std::byte> room_for(const comm::transport::Frame& frame) override;
  void arrived(const comm::transport::Frame& frame, std::span<std::byte> payload) override;
  void closed(const std::string& reason) override;

 private:
  std::span<float> slice(std::uint32_t key) const;

  Owner& owner_;
  int server_;
  const std::vector<Key>& keys_;
  std::span<float> parameters_;
  std::unique_ptr<comm::transport::Connection> connection_;
  std::uint32_t epoch_ = 0;
  std::uint64_t clock_ = 0;
  std::int64_t updates_ = 0;
  bool has_weights_ = false, in_use_ = false, refused_ = false;
  double first_came_at_ = 0;
  bool coming_ = false;  // weights, some of which are here
  std::string refusal_;
  std::vector<BFloat16> rounded_;
  std::vector<std::byte> words_;
};

}  // namespace trainyard::ps
