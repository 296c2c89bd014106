#include "report.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <regex>
#include <string>

#include "helpers/home.h"

namespace cove::conformance {
namespace {

std::string one_line(std::string text) {
  text = text.substr(0, 300);
  std::replace_if(text.begin(), text.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return text;
}

std::string case_of(const std::string& name) {
  std::smatch found;
  if (std::regex_search(name, found, std::regex("Case0*([0-9]+)"))) return found[1];
  if (std::regex_search(name, found, std::regex("^(P[0-9]+)_"))) return found[1];
  return "";
}

// "Case001_EchoSaysHi/dash" of a parameterised test.
std::string parameter_of(const std::string& name) {
  const auto slash = name.find('/');
  return slash == std::string::npos ? "" : name.substr(slash);
}

class Report : public ::testing::EmptyTestEventListener {
 public:
  explicit Report(const std::string& path) : out_(path, std::ios::app) {}

  void OnTestStart(const ::testing::TestInfo&) override { reason_.clear(); }
  void OnTestPartResult(const ::testing::TestPartResult& part) override {
    if (!part.passed() && reason_.empty()) reason_ = part.message();
  }
  void OnTestEnd(const ::testing::TestInfo& info) override {
    const std::string number = case_of(info.name());
    if (number.empty()) return;
    const auto* result = info.result();
    const std::string subject = testing_helpers::subject_name() + parameter_of(info.name()) + "\t" + number + "\t";
    const Verdict verdict = result->Failed() ? Verdict::failed : result->Skipped() ? Verdict::skipped : Verdict::passed;
    auto& worst = worst_[subject];
    if (verdict >= worst.first) worst = {verdict, one_line(reason_)};
    constexpr const char* kNames[] = {"passed\t", "skipped\t", "failed\t"};
    out_ << subject + kNames[static_cast<int>(worst.first)] + worst.second + "\n" << std::flush;
  }

 private:
  enum class Verdict : unsigned char { passed, skipped, failed };
  std::ofstream out_;
  std::string reason_;
  std::map<std::string, std::pair<Verdict, std::string>> worst_;
};

}  // namespace

::testing::TestEventListener* make_report() {
  const char* path = std::getenv("COVE_CONFORMANCE_REPORT");
  if (path == nullptr || *path == '\0') return new ::testing::EmptyTestEventListener;
  return new Report(path);
}

}  // namespace cove::conformance
