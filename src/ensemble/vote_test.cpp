#include "ensemble/vote.h"

#include <gtest/gtest.h>

#include "base/test_folder.h"

namespace trainyard::ensemble {
namespace {

Votes votes_of(const std::vector<std::vector<float>>& logits, const std::vector<std::int32_t>& labels) {
  Votes votes;
  for (std::size_t i = 0; i < labels.size(); ++i) votes.add(logits[i], labels[i]);
  return votes;
}

TEST(EnsembleVote, ProbabilitiesAreASoftmax) {
  const Votes votes = votes_of({{1000, 1000 + std::log(3.0f), 1000}}, {1});
  EXPECT_NEAR(votes.probabilities[0], 0.2, 1e-5);
  EXPECT_NEAR(votes.probabilities[1], 0.6, 1e-5);
  EXPECT_EQ(votes.accuracy(), 1);
}

// Two are a little for the wrong class, one is much for the right one.
TEST(EnsembleVote, MeanAndMajorityCanDiffer) {
  const std::vector<Votes> members{votes_of({{0.1f, 0}}, {1}), votes_of({{0.1f, 0}}, {1}),
                                   votes_of({{0, 9}}, {1})};
  const VoteResult result = count_votes(members);
  EXPECT_EQ(result.mean_probability, 1);
  EXPECT_EQ(result.majority, 0);
}

TEST(EnsembleVote, AmongEqualsTheSurerDecides) {
  const std::vector<Votes> members{votes_of({{1, 0, 0}}, {2}), votes_of({{0, 0, 5}}, {2})};
  EXPECT_EQ(count_votes(members).majority, 1);
}

TEST(EnsembleVote, DamagedImagesCountForNothing) {
  const std::vector<Votes> members{votes_of({{1, 0}, {1, 0}, {0, 1}}, {0, -1, 0})};
  EXPECT_EQ(members[0].accuracy(), 0.5);
  EXPECT_EQ(count_votes(members).mean_probability, 0.5);
}

TEST(EnsembleVote, OtherImagesAreRefused) {
  const std::vector<Votes> members{votes_of({{1, 0}}, {0}), votes_of({{1, 0}}, {1})};
  expect_error(ErrorKind::config, "same images", [&] { count_votes(members); });
}

TEST(EnsembleVote, AFileKeepsThemAndADamagedOneIsRefused) {
  const TestFolder folder;
  const Votes votes = votes_of({{1, 0, 2}, {3, 1, 0}}, {2, -1});
  write_votes(votes, folder.path() / "votes.bin");
  const Votes read = read_votes(folder.path() / "votes.bin");
  EXPECT_EQ(read.classes, 3);
  EXPECT_EQ(read.labels, votes.labels);
  EXPECT_EQ(read.probabilities, votes.probabilities);
  const auto size = std::filesystem::file_size(folder.path() / "votes.bin");
  for (const std::uintmax_t left :
       {size - 1, size - 4, std::uintmax_t{30}, std::uintmax_t{5}, std::uintmax_t{0}}) {
    std::filesystem::resize_file(folder.path() / "votes.bin", left);
    expect_error(ErrorKind::config, "votes.bin", [&] { read_votes(folder.path() / "votes.bin"); });
  }
}

}  // namespace
}  // namespace trainyard::ensemble
