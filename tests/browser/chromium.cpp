#include "browser/chromium.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>

#include "cli/run_command.h"
#include "report/text.h"

namespace trainyard::browser_test {

std::filesystem::path find_program(const std::string& name) {
  std::istringstream folders(std::getenv("PATH") == nullptr ? "" : std::getenv("PATH"));
  for (std::string folder; std::getline(folders, folder, ':');)
    if (std::filesystem::exists(std::filesystem::path(folder) / name))
      return std::filesystem::path(folder) / name;
  return {};
}

namespace {

std::vector<std::string> browser(const std::filesystem::path& folder,
                                 const std::vector<std::string>& further) {
  std::vector<std::string> command{find_program("chromium"),
                                   "--headless",
                                   "--no-sandbox",
                                   "--disable-gpu",
                                   "--hide-scrollbars",
                                   "--disable-quic",
                                   "--no-first-run",
                                   "--disable-background-networking",
                                   "--disable-component-update",
                                   "--disable-sync",
                                   "--disable-features=NetworkTimeServiceQuerying",
                                   "--proxy-server=127.0.0.1:9",
                                   "--user-data-dir=" + (folder / "profile").string(),
                                   "--virtual-time-budget=30000"};
  command.insert(command.end(), further.begin(), further.end());
  return command;
}

std::string content_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// The answer goes to the frame around the page, which keeps it in its title: a window of Chromium is never
// narrower than 500 pixels, a frame is.
constexpr const char* kAsk = R"js(<script>
new Promise(done => {
  const drawn = setInterval(() => {
    if (document.documentElement.dataset.charts === undefined) return;
    clearInterval(drawn);
    done();
  }, 50);
}).then(async () => {
%FUNCTION%
}).then(answer => parent.postMessage(JSON.stringify(answer), '*'), error => parent.postMessage(JSON.stringify('error: ' + error), '*'));
</script>
)js";

constexpr const char* kFrame = R"html(<!DOCTYPE html><title></title><body style="margin: 0">
<iframe src="%PAGE%" style="border: 0; width: %WIDTH%px; height: 900px"></iframe>
<script>addEventListener('message', event => { document.title = encodeURIComponent(event.data); });</script>
)html";

std::string with(std::string text, const std::string& name, const std::string& value) {
  return text.replace(text.find(name), name.size(), value);
}

std::string decoded(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == '%') {
      result += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
      i += 2;
    } else {
      result += text[i];
    }
  return result;
}

}  // namespace

OpenedPage open_page(const std::filesystem::path& page, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  const std::filesystem::path net_log = folder / "net.json";
  const cli_test::CommandResult result =
      cli_test::run(browser(folder, {"--window-size=1280,1000", "--enable-logging=stderr", "--v=0",
                                     "--log-net-log=" + net_log.string(), "--dump-dom",
                                     "file://" + report::address_of(page)}),
                    {folder, {}});
  OpenedPage opened{result.exit_code, result.out, {}, {}};
  std::istringstream lines(result.err);
  for (std::string line; std::getline(lines, line);)
    if (line.find(":CONSOLE") != std::string::npos) opened.console.push_back(line);
  // Each line holds one event. A request that the browser makes by itself has no origin.
  const std::regex request(R"re("initiator":"([^"]*)".*"url":"(https?://[^"]*)")re");
  std::ifstream events(net_log);
  std::smatch match;
  for (std::string line; std::getline(events, line);)
    if (std::regex_search(line, match, request) && match[1] != "not an origin")
      opened.addresses.push_back(match[2]);
  return opened;
}

std::string ask_page(const std::filesystem::path& page, const std::filesystem::path& folder,
                     const Reader& reader, const std::string& function) {
  std::filesystem::create_directories(folder);
  const std::filesystem::path asked = page.parent_path() / "asked.html",
                              frame = page.parent_path() / "frame.html";
  std::string text = content_of(page);
  text.insert(text.rfind("</body>"), with(kAsk, "%FUNCTION%", function));
  std::ofstream(asked, std::ios::binary) << text;
  std::ofstream(frame) << with(with(kFrame, "%PAGE%", "asked.html"), "%WIDTH%", std::to_string(reader.width));
  const cli_test::CommandResult result = cli_test::run(
      browser(folder,
              {"--window-size=" + std::to_string(std::max(reader.width, 600)) + ",1000",
               std::string("--blink-settings=preferredColorScheme=") + (reader.prefers_dark ? "0" : "1"),
               "--dump-dom", "file://" + report::address_of(frame)}),
      {folder, {}});
  std::filesystem::remove(asked);
  std::filesystem::remove(frame);
  const std::size_t begin = result.out.find("<title>") + 7, end = result.out.find("</title>");
  return end == std::string::npos ? "" : decoded(result.out.substr(begin, end - begin));
}

}  // namespace trainyard::browser_test
