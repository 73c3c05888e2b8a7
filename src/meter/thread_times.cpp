#include "meter/thread_times.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>

namespace trainyard::meter {
namespace {

// utime and stime are the 12th and 13th words behind the name, which stands in parentheses and may hold any.
constexpr std::size_t kUserWord = 11, kSystemWord = 12;

}  // namespace

std::vector<ThreadTimes> read_thread_times(const SystemFiles& files) {
  std::map<std::string, ThreadTimes> by_name;
  const double tick = 1.0 / static_cast<double>(::sysconf(_SC_CLK_TCK));
  std::error_code code;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", code)) {
    const auto text = files.text((task.path() / "stat").string());
    if (!text) continue;  // it ended
    const std::size_t open = text->find('('), close = text->rfind(')');
    if (open == std::string::npos || close == std::string::npos) continue;
    const std::vector<std::string_view> words = split_words(std::string_view(*text).substr(close + 1));
    if (words.size() <= kSystemWord) continue;
    ThreadTimes& times = by_name[text->substr(open + 1, close - open - 1)];
    ++times.threads;
    times.user_seconds += static_cast<double>(leading_integer(words[kUserWord]).value_or(0)) * tick;
    times.system_seconds += static_cast<double>(leading_integer(words[kSystemWord]).value_or(0)) * tick;
  }
  std::vector<ThreadTimes> list;
  for (auto& [name, times] : by_name) {
    times.name = name;
    list.push_back(std::move(times));
  }
  return list;
}

void name_thread(const char* name) { ::pthread_setname_np(::pthread_self(), name); }

}  // namespace trainyard::meter
