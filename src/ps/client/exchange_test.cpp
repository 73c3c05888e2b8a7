// Servers and workers that talk over real sockets, each with its own thread.
#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mutex.h"
#include "comm/transport/listener.h"
#include "comm/transport/loop.h"
#include "ps/client/client.h"
#include "ps/mode/test_modes.h"
#include "ps/server/server.h"
#include "ps/server/test_adder.h"
#include "ps/wire/messages.h"

namespace trainyard::ps {
namespace {

namespace transport = comm::transport;

constexpr std::int64_t kExchangeElements = 50'000;

class Lines {
 public:
  Server::Log log() {
    return [this](const std::string& line) {
      const MutexLock lock(mutex_);
      lines_.push_back(line);
    };
  }
  bool has(const std::string& part) const {
    const MutexLock lock(mutex_);
    return std::any_of(lines_.begin(), lines_.end(),
                       [&](const std::string& line) { return line.find(part) != std::string::npos; });
  }

 private:
  mutable Mutex mutex_;
  std::vector<std::string> lines_ TRAINYARD_GUARDED_BY(mutex_);
};

class ServerThread {
 public:
  ServerThread(const ServerOptions& options, const std::vector<Key>& keys, const transport::JobKey& key,
               Server::Log log)
      : server_(make_server(loop_, options, keys, adder_, transport::Address::parse("tcp:127.0.0.1:0"), &key,
                            std::move(log))) {
    const auto elements = static_cast<std::size_t>(server_->shard().elements());
    if (!server_->has_begun()) server_->begin(std::vector<float>(elements), {}, {});
    thread_ = std::thread([this] { loop_.run(); });
  }
  void connect(const std::vector<transport::Address>& servers) {
    loop_.post([this, servers] { server_->connect(servers); });
  }
  ~ServerThread() {
    loop_.post([this] {
      server_.reset();
      loop_.stop();
    });
    thread_.join();
  }
  transport::Address address() const { return server_->address(); }

  // Something that only the server's thread may look at.
  template <typename Look>
  auto on_its_thread(const Look& look) {
    using Result = decltype(look(*server_));
    Result result{};
    std::atomic<bool> done = false;
    loop_.post([&] {
      result = look(*server_);
      done = true;
    });
    while (!done) std::this_thread::yield();
    return result;
  }
  ServerCounts counts() {
    return on_its_thread([](Server& server) { return server.counts(); });
  }

 private:
  Adder adder_;
  transport::Loop loop_;
  std::unique_ptr<Server> server_;
  std::thread thread_;
};

class Exchange : public testing::Test {
 protected:
  void serve(const std::string& mode, int workers, int servers, bool bf16 = false, double lease_seconds = 3) {
    keys_ = make_keys(kExchangeElements, servers, 16 << 10);
    for (int s = 0; s < servers; ++s) {
      servers_.push_back(std::make_unique<ServerThread>(ServerOptions{.server = s,
                                                                      .servers = servers,
                                                                      .workers = workers,
                                                                      .mode = ModeName::parse(mode),
                                                                      .bf16 = bf16,
                                                                      .lease_seconds = lease_seconds},
                                                        keys_, key_, lines_.log()));
      addresses_.push_back(servers_.back()->address());
    }
    for (const auto& server : servers_) server->connect(addresses_);
  }

  ClientOptions client_options(int worker, bool bf16 = false) const {
    return {.worker = worker, .servers = addresses_, .bf16 = bf16, .give_up_seconds = 5};
  }

  // Pushes so many gradients of `value`, backwards and in pieces as a backward pass would; returns the
  // weights that came last.
  std::vector<float> work(int worker, int steps, float value, bool bf16 = false) {
    std::vector<float> parameters(kExchangeElements, -1.0f), gradients(kExchangeElements);
    const auto client = std::make_unique<Client>(client_options(worker, bf16), keys_, &key_, parameters,
                                                 gradients, lines_.log());
    client->wait_for_weights();
    for (int step = 0; step < steps; ++step) {
      std::fill(gradients.begin(), gradients.end(), value);
      constexpr std::int64_t kPiece = 7000;
      for (std::int64_t end = kExchangeElements; end > 0; end -= kPiece)
        client->ready(std::max<std::int64_t>(0, end - kPiece), std::min(end, kPiece));
      client->wait_for_weights();
    }
    return parameters;
  }

  transport::JobKey key_ = transport::JobKey::random();
  std::vector<Key> keys_;
  Lines lines_;
  std::vector<std::unique_ptr<ServerThread>> servers_;
  std::vector<transport::Address> addresses_;
};

class ExchangeModes : public Exchange,
                      public testing::WithParamInterface<std::tuple<std::string, int, int>> {};

TEST_P(ExchangeModes, EveryGradientIsInTheSumOnce) {
  const auto& [mode, workers, servers] = GetParam();
  constexpr int kSteps = 20;
  const bool rounds = ModeName::parse(mode).in_rounds();
  serve(mode, workers, servers);
  std::vector<std::thread> threads;
  for (int worker = 0; worker < workers; ++worker)
    threads.emplace_back([&, worker] { work(worker, kSteps, static_cast<float>(worker + 1)); });
  for (std::thread& thread : threads) thread.join();
  const float all = static_cast<float>(kSteps * workers * (workers + 1) / 2);
  for (const auto& server : servers_) {
    // Gradients that are applied in the background may still be in progress when the workers are gone.
    while (server->counts().updates < (rounds ? kSteps : kSteps * workers)) std::this_thread::yield();
    const Shard::Version parameters = server->on_its_thread([](Server& s) { return s.shard().newest(); });
    for (const float value : parameters.values->values) ASSERT_EQ(value, all);
    const ServerCounts counts = server->counts();
    EXPECT_EQ(counts.gradients, kSteps * workers);
    EXPECT_EQ(counts.updates, rounds ? kSteps : kSteps * workers);
    if (rounds) {
      EXPECT_EQ(counts.staleness.size(), 1u);
      EXPECT_EQ(counts.staleness.begin()->first, 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, ExchangeModes,
                         testing::Combine(testing::ValuesIn(summing_modes(2, false)),
                                          testing::Values(1, 2, 4), testing::Values(1, 3)),
                         [](const auto& test) {
                           return test_name(fmt::format("{}_{}_workers_{}_servers", std::get<0>(test.param),
                                                        std::get<1>(test.param), std::get<2>(test.param)));
                         });

TEST_F(Exchange, WeightsAreThoseOfTheRound) {
  serve("bsp:sum", 2, 2);
  std::vector<float> first, second;
  std::thread other([&] { second = work(1, 5, 2); });
  first = work(0, 5, 1);
  other.join();
  for (const float value : first) ASSERT_EQ(value, 15);
  EXPECT_EQ(first, second);
}

TEST_F(Exchange, HalfTheBytesInBf16) {
  serve("bsp:sum", 1, 1);
  work(0, 10, 3);
  const std::uint64_t whole = servers_[0]->counts().bytes_received;
  servers_.clear();
  addresses_.clear();
  serve("bsp:sum", 1, 1, true);
  const std::vector<float> weights = work(0, 10, 3, true);
  for (const float value : weights) ASSERT_EQ(value, 30);  // small integers are exact in bf16
  const double ratio = static_cast<double>(whole) / static_cast<double>(servers_[0]->counts().bytes_received);
  EXPECT_NEAR(ratio, 2, 0.05);
}

TEST_F(Exchange, AGradientThatIsNoNumberIsRefusedByName) {
  serve("bsp", 1, 1);
  try {
    work(7, 3, std::numeric_limits<float>::quiet_NaN());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::peer);
    EXPECT_NE(std::string(error.what()).find("not finite"), std::string::npos) << error.what();
  }
  EXPECT_TRUE(lines_.has("worker 7"));
  EXPECT_EQ(servers_[0]->counts().updates, 0);
}

TEST_F(Exchange, ARoundGoesOnWithoutAWorkerThatLeft) {
  serve("bsp", 2, 1);
  std::thread other([&] { work(1, 2, 1); });
  const std::vector<float> weights = work(0, 10, 1);
  other.join();
  for (const float value : weights) ASSERT_EQ(value, 10);
}

TEST_F(Exchange, WhoJoinsLaterTakesPart) {
  serve("bsp:sum", 1, 1);
  std::atomic<bool> joined = false;
  std::thread other([&] {
    while (servers_[0]->counts().updates < 3) std::this_thread::yield();
    work(1, 2, 10);
    joined = true;
  });
  std::vector<float> parameters(kExchangeElements), gradients(kExchangeElements, 1.0f);
  const auto client =
      std::make_unique<Client>(client_options(0), keys_, &key_, parameters, gradients, lines_.log());
  client->wait_for_weights();
  int steps = 0;
  while (!joined) {
    client->ready(0, kExchangeElements);
    client->wait_for_weights();
    ++steps;
  }
  other.join();
  EXPECT_EQ(parameters[0], static_cast<float>(steps) + 20);
}

TEST_F(Exchange, NobodyThereIsSaidAfterAWhile) {
  keys_ = make_keys(kExchangeElements, 1);
  addresses_ = {transport::Address::parse("tcp:127.0.0.1:1")};
  std::vector<float> parameters(kExchangeElements), gradients(kExchangeElements);
  ClientOptions options = client_options(3);
  options.give_up_seconds = 0.3;
  const auto client = std::make_unique<Client>(options, keys_, &key_, parameters, gradients, lines_.log());
  try {
    client->wait_for_weights();
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("worker 3: no server"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("tcp:127.0.0.1:1"), std::string::npos) << error.what();
  }
}

TEST_F(Exchange, AnotherArrayIsRefused) {
  serve("bsp", 1, 1);
  std::vector<float> parameters(100), gradients(100);
  ClientOptions options = client_options(0);
  options.give_up_seconds = 0.5;
  const auto client =
      std::make_unique<Client>(options, make_keys(100, 1), &key_, parameters, gradients, lines_.log());
  EXPECT_THROW(client->wait_for_weights(), Error);
  EXPECT_TRUE(lines_.has("has 50000 parameters"));
}

TEST_F(Exchange, StallsAreReported) {
  serve("bsp", 2, 1);
  std::vector<float> parameters(kExchangeElements), gradients(kExchangeElements);
  ClientOptions options = client_options(0);
  options.stall_seconds = 0.2;
  const auto client = std::make_unique<Client>(options, keys_, &key_, parameters, gradients, lines_.log());
  std::thread waits([&] { client->wait_for_weights(); });
  for (int i = 0; i < 200 && !lines_.has("no weights for"); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_TRUE(lines_.has("step 0: no weights for"));
  EXPECT_TRUE(lines_.has("server 0 (tcp:127.0.0.1:"));
  work(1, 0, 0);
  waits.join();
}

// A worker is silent for longer than its lease, as after a suspension: it is removed, joins again, and is
// told that its gradient was not taken. What it then pushes again counts once.
TEST_F(Exchange, WhoWasSilentComesBackAndRepeatsItsStep) {
  serve("bsp:sum", 1, 1, false, 0.2);
  std::vector<float> parameters(kExchangeElements), gradients(kExchangeElements, 1.0f);
  ClientOptions options = client_options(0);
  options.heartbeat_seconds = 100;
  const auto client = std::make_unique<Client>(options, keys_, &key_, parameters, gradients, lines_.log());
  client->wait_for_weights();
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  client->ready(0, kExchangeElements);
  Client::Weights weights = client->wait_for_weights();
  EXPECT_FALSE(weights.counted);
  EXPECT_EQ(weights.updates, 0);
  EXPECT_TRUE(lines_.has("it said nothing for 0.2 s"));
  client->ready(0, kExchangeElements);
  weights = client->wait_for_weights();
  EXPECT_TRUE(weights.counted);
  EXPECT_EQ(weights.updates, 1);
  EXPECT_EQ(parameters[0], 1);
  EXPECT_EQ(servers_[0]->counts().gradients, 1);
  EXPECT_EQ(client->counts().dropped_gradients, 1);
}

// Leases last as long as heartbeats come, however long nothing else is said.
TEST_F(Exchange, WhoOnlyWaitsIsNotTakenForDead) {
  serve("bsp", 2, 2, false, 0.2);
  std::vector<float> parameters(kExchangeElements), gradients(kExchangeElements);
  ClientOptions options = client_options(0);
  options.heartbeat_seconds = 0.05;
  options.lease_seconds = 0.2;
  const auto client = std::make_unique<Client>(options, keys_, &key_, parameters, gradients, lines_.log());
  std::thread waits([&] { client->wait_for_weights(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(800));
  work(1, 0, 0);
  waits.join();
  EXPECT_FALSE(lines_.has("it said nothing"));
  EXPECT_EQ(client->counts().joins, 1);
  for (const auto& server : servers_) EXPECT_EQ(server->counts().interruptions, 0);
}

// The machine of a server is gone: nothing arrives any more, and nobody reports it.
TEST_F(Exchange, AServerThatIsSilentIsCalledAgain) {
  transport::Loop loop;
  std::vector<std::unique_ptr<transport::Connection>> silent;
  std::atomic<std::size_t> calls = 0;
  const auto listener = transport::listen(
      loop, transport::Address::parse("tcp:127.0.0.1:0"), &key_, {},
      [&](std::unique_ptr<transport::Connection> peer) {
        silent.push_back(std::move(peer));
        calls = silent.size();
      },
      [](const std::string&, const std::string&) {});
  std::thread thread([&] { loop.run(); });
  addresses_ = {listener->address()};
  keys_ = make_keys(kExchangeElements, 1);
  std::vector<float> parameters(kExchangeElements), gradients(kExchangeElements);
  ClientOptions options = client_options(0);
  options.heartbeat_seconds = 0.05;
  options.lease_seconds = 0.2;
  options.give_up_seconds = 0.5;
  const auto client = std::make_unique<Client>(options, keys_, &key_, parameters, gradients, lines_.log());
  EXPECT_THROW(client->wait_for_weights(), Error);
  EXPECT_TRUE(lines_.has("it said nothing for 0.2 s"));
  EXPECT_GE(calls, 2u);
  loop.stop();
  thread.join();
}

// Weights that came before they were asked for change nothing about that: while a worker computes, nobody
// writes into its parameters, though it is lost meanwhile and others go on.
TEST_F(Exchange, ParametersStayWhileAWorkerComputes) {
  serve("asp", 1, 1, false, 0.2);
  std::vector<float> parameters(kExchangeElements), gradients(kExchangeElements, 1.0f);
  ClientOptions options = client_options(0);
  options.heartbeat_seconds = 100;
  const auto client = std::make_unique<Client>(options, keys_, &key_, parameters, gradients, lines_.log());
  client->wait_for_weights();
  client->ready(0, kExchangeElements);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_TRUE(client->wait_for_weights().counted);
  work(1, 5, 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  for (const float value : parameters) ASSERT_EQ(value, 1);
  client->ready(0, kExchangeElements);
  EXPECT_FALSE(client->wait_for_weights().counted);
  for (const float value : parameters) ASSERT_EQ(value, 6);
  EXPECT_EQ(client->counts().gradients, 1);
  EXPECT_EQ(client->counts().joins, 2);
}

// The client ends between the loss of its server and the handling of that loss: nothing is left to wait for.
TEST_F(Exchange, WhoEndsWhenItsServerIsLostEndsAtOnce) {
  serve("bsp", 1, 1);
  std::vector<float> parameters(kExchangeElements), gradients(kExchangeElements);
  std::atomic<bool> lost = false;
  auto client = std::make_unique<Client>(
      client_options(0), keys_, &key_, parameters, gradients, [&](const std::string& line) {
        if (line.find("is lost") == std::string::npos) return;
        lost = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(200));  // the client's end is called meanwhile
      });
  client->wait_for_weights();
  servers_.clear();
  while (!lost) std::this_thread::yield();
  const double began = now_seconds();
  client.reset();
  EXPECT_LT(now_seconds() - began, 0.7);
}

// Pushes some keys of a gradient, and is gone.
class HalfAWorker final : public transport::Receiver {
 public:
  HalfAWorker(const transport::Address& server, const std::vector<Key>& keys, const transport::JobKey& key,
              int number)
      : keys_(keys), gradient_(kExchangeElements, 1000.0f), room_(kExchangeElements) {
    const auto call = transport::call(
        loop_, server, &key, {.role = 1, .id = static_cast<std::uint32_t>(number)}, {},
        [this](std::unique_ptr<transport::Connection> peer) {
          connection_ = std::move(peer);
          connection_->start(*this);
          connection_->send({.kind = wire(Kind::join)});
        },
        [](const std::string& reason) { FAIL() << reason; });
    loop_.run();
  }

  std::span<std::byte> room_for(const transport::Frame& frame) override {
    return std::as_writable_bytes(std::span(room_)).first(frame.payload_bytes);
  }
  void arrived(const transport::Frame& frame, std::span<std::byte>) override {
    if (frame.kind == wire(Kind::welcome)) epoch_ = frame.epoch;
    if (frame.kind != wire(Kind::weights) || (frame.flags & kLast) == 0) return;
    for (std::size_t key = 0; key < keys_.size() / 2; ++key)
      connection_->send(
          {.kind = wire(Kind::push), .epoch = epoch_, .key = static_cast<std::uint32_t>(key)},
          std::as_bytes(std::span(gradient_).first(static_cast<std::size_t>(keys_[key].elements))));
    connection_->close("it dies", true);
  }
  void closed(const std::string&) override { loop_.stop(); }

 private:
  std::vector<Key> keys_;
  std::vector<float> gradient_, room_;
  transport::Loop loop_;
  std::unique_ptr<transport::Connection> connection_;
  std::uint32_t epoch_ = 0;
};

TEST_F(Exchange, NothingOfHalfAGradientIsEverSeen) {
  for (const std::string& mode : summing_modes(1, false)) {
    SCOPED_TRACE(mode);
    servers_.clear();
    addresses_.clear();
    serve(mode, 2, 1);
    std::vector<float> weights;
    std::thread whole([&] { weights = work(0, 10, 1); });
    { const HalfAWorker half(addresses_[0], keys_, key_, 1); }
    whole.join();
    for (const float value : weights) ASSERT_TRUE(value <= 10 && value == weights[0]) << value;
    EXPECT_EQ(servers_[0]->counts().gradients, 10);
  }
}

// A process that comes again in the place of one that is thought to live.
TEST_F(Exchange, TheNewerOfTwoWithOneNumberStays) {
  serve("asp", 1, 1);
  std::vector<float> parameters(kExchangeElements), gradients(kExchangeElements, 1.0f);
  const auto old =
      std::make_unique<Client>(client_options(0), keys_, &key_, parameters, gradients, lines_.log());
  old->wait_for_weights();
  work(0, 3, 1);
  old->ready(0, kExchangeElements);
  EXPECT_THROW(old->wait_for_weights(), Error);
  EXPECT_EQ(servers_[0]->counts().gradients, 3);
}

}  // namespace
}  // namespace trainyard::ps
