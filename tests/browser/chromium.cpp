#include "browser/chromium.h"

#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>

#include "cli/run_command.h"

namespace trainyard::browser_test {

std::filesystem::path find_program(const std::string& name) {
  std::istringstream folders(std::getenv("PATH") == nullptr ? "" : std::getenv("PATH"));
  for (std::string folder; std::getline(folders, folder, ':');)
    if (std::filesystem::exists(std::filesystem::path(folder) / name))
      return std::filesystem::path(folder) / name;
  return {};
}

OpenedPage open_page(const std::filesystem::path& page, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  const std::filesystem::path net_log = folder / "net.json";
  const cli_test::CommandResult result = cli_test::run(
      {find_program("chromium"), "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
       "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
       "--disable-features=NetworkTimeServiceQuerying", "--proxy-server=127.0.0.1:9",
       "--user-data-dir=" + (folder / "profile").string(), "--window-size=1280,1000",
       "--virtual-time-budget=30000", "--enable-logging=stderr", "--v=0", "--log-net-log=" + net_log.string(),
       "--dump-dom", "file://" + page.string()},
      {folder, {}});
  OpenedPage opened{result.exit_code, result.out, {}, {}};
  std::istringstream lines(result.err);
  for (std::string line; std::getline(lines, line);)
    if (line.find(":CONSOLE") != std::string::npos) opened.console.push_back(line);
  // One event a line. What the browser does on its own account has no origin.
  const std::regex request(R"re("initiator":"([^"]*)".*"url":"(https?://[^"]*)")re");
  std::ifstream events(net_log);
  std::smatch match;
  for (std::string line; std::getline(events, line);)
    if (std::regex_search(line, match, request) && match[1] != "not an origin")
      opened.addresses.push_back(match[2]);
  return opened;
}

}  // namespace trainyard::browser_test
