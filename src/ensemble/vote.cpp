#include "ensemble/vote.h"

#include "base/error.h"
#include "base/file.h"

namespace trainyard::ensemble {
namespace {

constexpr char kVoteMagic[8] = {'T', 'Y', 'V', 'O', 'T', 'E', 'S', '1'};

struct FileHead {
  char magic[8];
  std::int64_t images;
  std::int64_t classes;
};

std::int32_t largest(std::span<const float> values) {
  return static_cast<std::int32_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

double share(std::int64_t right, std::int64_t seen) {
  return seen == 0 ? 0 : static_cast<double>(right) / static_cast<double>(seen);
}

}  // namespace

void Votes::add(std::span<const float> logits, std::int32_t label) {
  classes = static_cast<std::int32_t>(logits.size());
  const float most = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit - most));
  for (const float logit : logits)
    probabilities.push_back(static_cast<float>(std::exp(static_cast<double>(logit - most)) / sum));
  labels.push_back(label);
}

double Votes::accuracy() const {
  std::int64_t right = 0, seen = 0;
  for (std::size_t image = 0; image < labels.size(); ++image) {
    if (labels[image] < 0) continue;
    ++seen;
    right += largest(of(image)) == labels[image] ? 1 : 0;
  }
  return share(right, seen);
}

void write_votes(const Votes& votes, const std::filesystem::path& file) {
  FileHead head{{}, static_cast<std::int64_t>(votes.labels.size()), votes.classes};
  std::memcpy(head.magic, kVoteMagic, sizeof kVoteMagic);
  AtomicFile to(file);
  to.write(&head, sizeof head);
  to.write(votes.labels.data(), votes.labels.size() * sizeof(std::int32_t));
  to.write(votes.probabilities.data(), votes.probabilities.size() * sizeof(float));
  to.commit();
}

Votes read_votes(const std::filesystem::path& file) {
  const std::vector<std::byte> bytes = read_file(file);
  FileHead head{};
  if (bytes.size() >= sizeof head) std::memcpy(&head, bytes.data(), sizeof head);
  const auto left = static_cast<std::int64_t>(bytes.size()) - static_cast<std::int64_t>(sizeof head);
  if (std::memcmp(head.magic, kVoteMagic, sizeof kVoteMagic) != 0 || head.images < 0 || head.classes < 1 ||
      head.images > left / 8 || left % 4 != 0 || left / 4 != head.images * (1 + head.classes))
    fail(ErrorKind::config, "'{}' holds no votes, or not all of them", file.string());
  Votes votes;
  votes.classes = static_cast<std::int32_t>(head.classes);
  votes.labels.resize(static_cast<std::size_t>(head.images));
  votes.probabilities.resize(static_cast<std::size_t>(head.images * head.classes));
  const std::byte* from = bytes.data() + sizeof head;
  std::memcpy(votes.labels.data(), from, votes.labels.size() * sizeof(std::int32_t));
  from += votes.labels.size() * sizeof(std::int32_t);
  std::memcpy(votes.probabilities.data(), from, votes.probabilities.size() * sizeof(float));
  return votes;
}

VoteResult count_votes(std::span<const Votes> members) {
  TRAINYARD_CHECK(!members.empty());
  const Votes& first = members.front();
  for (const Votes& member : members)
    if (member.labels != first.labels || member.classes != first.classes)
      fail(ErrorKind::config, "the members did not vote on the same images");
  std::int64_t by_mean = 0, by_majority = 0, seen = 0;
  const auto classes = static_cast<std::size_t>(first.classes);
  std::vector<float> sums(classes), named(classes);
  for (std::size_t image = 0; image < first.labels.size(); ++image) {
    if (first.labels[image] < 0) continue;
    ++seen;
    std::fill(sums.begin(), sums.end(), 0.0f);
    std::fill(named.begin(), named.end(), 0.0f);
    for (const Votes& member : members) {
      const std::span<const float> of = member.of(image);
      for (std::size_t c = 0; c < classes; ++c) sums[c] += of[c];
      named[static_cast<std::size_t>(largest(of))] += 1;
    }
    by_mean += largest(sums) == first.labels[image] ? 1 : 0;
    // A sum of probabilities is less than one more member: it decides among equals alone.
    for (std::size_t c = 0; c < classes; ++c) named[c] += sums[c] / static_cast<float>(members.size() + 1);
    by_majority += largest(named) == first.labels[image] ? 1 : 0;
  }
  return {share(by_mean, seen), share(by_majority, seen)};
}

}  // namespace trainyard::ensemble
