// Whole runs: a coordinator, servers and workers, each with its own thread; servers that come again with what
// they kept.
#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/test_folder.h"
#include "ps/client/client.h"
#include "ps/mode/test_modes.h"
#include "ps/server/coordinator.h"
#include "ps/server/serve.h"
#include "ps/server/test_adder.h"
#include "ps/wire/peer.h"

namespace trainyard::ps {
namespace {

namespace transport = comm::transport;
using News = Coordinator::News;

class Runs : public testing::Test {
 protected:
  static constexpr std::int64_t kElements = 20'000;

  // `missing`: of the servers, so many are not started.
  void begin(const std::string& mode, int workers, int servers, std::int64_t batches, int missing = 0) {
    workers_ = workers;
    options_.mode = ModeName::parse(mode);
    options_.servers = servers;
    options_.workers = workers;
    options_.batches = batches;
    options_.run = 99;
    options_.lease_seconds = 2;
    keys_ = make_keys(kElements, servers, 16 << 10);
    coordinator_ = std::make_unique<Coordinator>(
        CoordinatorOptions{
            .servers = servers, .keys = keys_, .listen = transport::Address::parse("tcp:127.0.0.1:0")},
        key_,
        [this](const std::string& line) { announced_ += line.find(" is at ") != std::string::npos ? 1 : 0; });
    State state;
    state.arrays = {std::vector<float>(kElements, 0.0f), std::vector<float>(kElements, 5.0f)};
    coordinator_->begin(std::move(state));
    for (int server = 0; server < servers - missing; ++server) start_server(server);
  }

  void start_server(int server) {
    servers_.emplace_back([this, server, options = options_]() mutable {
      Adder adder(1);
      options.server = server;
      serve({.server = options,
             .listen = transport::Address::parse("tcp:127.0.0.1:0"),
             .advertise = "",
             .coordinator = coordinator_->address()},
            keys_, adder, key_, [](const std::string&) {});
    });
  }

  // Gradients of `value` until nothing is left to do.
  void start_worker(int worker, float value) {
    threads_.emplace_back([this, worker, value] {
      std::vector<float> parameters(kElements), gradients(kElements);
      const auto client = std::make_unique<Client>(
          ClientOptions{.worker = worker, .servers = find_servers(coordinator_->address(), worker, key_, 10)},
          keys_, &key_, parameters, gradients, [](const std::string&) {});
      while (true) {
        const Client::Weights weights = client->wait_for_weights();
        if (weights.done) return;
        std::fill(gradients.begin(), gradients.end(), value);
        const std::byte note[] = {std::byte(weights.batch), std::byte(worker)};
        client->note(note);
        client->ready(0, kElements);
      }
    });
  }

  News wait_for(News::Kind kind) {
    while (true) {
      std::optional<News> news = coordinator_->next(20);
      if (!news) {
        ADD_FAILURE() << "nothing came";
        return {};
      }
      if (news->kind == News::Kind::noted) {
        EXPECT_EQ(news->note.size(), 2u);
        EXPECT_EQ(news->note[0], std::byte(news->noted.batch));
        EXPECT_EQ(news->note[1], std::byte(news->noted.worker));
        ++noted_;
      }
      if (news->kind == kind) return std::move(*news);
    }
  }

  void end() {
    for (std::thread& thread : threads_) thread.join();
    coordinator_->end();
    for (std::thread& server : servers_) server.join();
  }

  transport::JobKey key_ = transport::JobKey::random();
  ServerOptions options_;
  std::vector<Key> keys_;
  std::unique_ptr<Coordinator> coordinator_;
  std::vector<std::thread> servers_, threads_;
  int workers_ = 0;
  std::atomic<int> announced_ = 0;  // servers, to the coordinator
  std::int64_t noted_ = 0;
};

class RunModes : public Runs, public testing::WithParamInterface<std::tuple<std::string, int, int>> {};

TEST_P(RunModes, UseEveryBatchOnceAndEnd) {
  const auto& [mode, workers, servers] = GetParam();
  const std::int64_t batches = 60;
  begin(mode, workers, servers, batches);
  for (int worker = 0; worker < workers; ++worker) start_worker(worker, 1);
  const News finished = wait_for(News::Kind::finished);
  EXPECT_EQ(finished.words, "");
  coordinator_->want_snapshot(finished.updates);
  const News snapshot = wait_for(News::Kind::snapshot);
  EXPECT_EQ(snapshot.updates, finished.updates);
  EXPECT_EQ(snapshot.state.start.next_batch, batches);
  EXPECT_TRUE(snapshot.state.start.loose.empty());
  EXPECT_EQ(noted_, batches);
  if (ModeName::parse(mode).row->sharing != Sharing::racing) {
    for (const float value : snapshot.state.arrays[0]) ASSERT_EQ(value, static_cast<float>(batches));
    for (const float value : snapshot.state.arrays[1])
      ASSERT_EQ(value, 5 + static_cast<float>(snapshot.updates)) << "the optimizer's";
  }
  coordinator_->want_counts();
  std::int64_t gradients = 0;
  for (const ServerCounts& counts : wait_for(News::Kind::counts).counts) gradients += counts.gradients;
  EXPECT_EQ(gradients, batches * servers);
  end();
}

INSTANTIATE_TEST_SUITE_P(Modes, RunModes,
                         testing::Combine(testing::ValuesIn(summing_modes(1, true)), testing::Values(1, 3),
                                          testing::Values(1, 2)),
                         [](const auto& test) {
                           return test_name(fmt::format("{}_{}_workers_{}_servers", std::get<0>(test.param),
                                                        std::get<1>(test.param), std::get<2>(test.param)));
                         });

TEST_F(Runs, SnapshotsAreOfTheMomentThatWasAsked) {
  begin("bsp:sum", 2, 3, 400);
  coordinator_->want_snapshot(50);
  for (int worker = 0; worker < 2; ++worker) start_worker(worker, 1);
  const News snapshot = wait_for(News::Kind::snapshot);
  EXPECT_EQ(snapshot.updates, 50);
  EXPECT_EQ(snapshot.state.start.next_batch, 100);
  for (const float value : snapshot.state.arrays[0]) ASSERT_EQ(value, 100);
  wait_for(News::Kind::finished);
  end();
}

// Killed before it had all numbers, and started again: it has nothing, and nobody has done anything yet.
TEST_F(Runs, AServerThatDiesWithoutNumbersGetsThemAgain) {
  begin("asp", 1, 2, 20, 1);
  {
    transport::Loop loop;
    std::unique_ptr<Peer> peer;
    const auto call = transport::call(
        loop, coordinator_->address(), &key_, {.role = static_cast<std::uint8_t>(Role::server), .id = 1}, {},
        [&](std::unique_ptr<transport::Connection> connection) {
          peer = std::make_unique<Peer>(
              std::move(connection),
              [&](const transport::Frame& frame, std::span<const std::byte>) {
                if (frame.kind == wire(Kind::begin)) loop.stop();
              },
              [&](const std::string& reason) { ADD_FAILURE() << reason; });
          const std::string address = "tcp:127.0.0.1:1";
          const std::span<const std::byte> words = bytes_of(address);
          peer->say({.kind = wire(Kind::announce)}, {words.begin(), words.end()});
        },
        [](const std::string& reason) { ADD_FAILURE() << reason; });
    loop.run();
  }
  start_server(1);
  while (announced_ < 3) std::this_thread::yield();
  start_worker(0, 1);
  EXPECT_EQ(wait_for(News::Kind::finished).words, "");
  end();
}

// The process that restarted it had not heard yet that all is over.
TEST_F(Runs, AServerThatComesWhenAllIsOverIsToldSo) {
  begin("asp", 1, 1, 5);
  start_worker(0, 1);
  wait_for(News::Kind::finished);
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  coordinator_->end();
  start_server(0);
  end();
}

TEST_F(Runs, AHaltedRunEndsBetweenRounds) {
  begin("bsp:sum", 3, 2, 1'000'000);
  for (int worker = 0; worker < 3; ++worker) start_worker(worker, 1);
  for (int i = 0; i < 30; ++i) wait_for(News::Kind::noted);
  coordinator_->halt();
  const News finished = wait_for(News::Kind::finished);
  EXPECT_EQ(finished.words, "");
  coordinator_->want_snapshot(finished.updates);
  const News snapshot = wait_for(News::Kind::snapshot);
  EXPECT_EQ(snapshot.updates, finished.updates);
  EXPECT_EQ(snapshot.state.start.next_batch, 3 * finished.updates);
  EXPECT_TRUE(snapshot.state.start.loose.empty());
  end();
}

}  // namespace
}  // namespace trainyard::ps
