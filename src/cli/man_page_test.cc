#include "cli/man_page.h"

#include <gtest/gtest.h>

#include "cli/arguments.h"
#include "cli/man_overview.h"
#include "cli/mcp.h"
#include "cli/roff.h"
#include "spec/settings.h"

namespace cove::cli {
namespace {

TEST(Roff, TakesNothingOfATextForARequestOrAnEscape) {
  EXPECT_EQ(roff(".SH x\n.br\n'br"), "\\&.SH x\n\\&.br\n\\(aqbr");
  EXPECT_EQ(roff("a\\nb --all `x` ~ ^"), "a\\enb \\-\\-all \\(gax\\(ga \\(ti \\(ha");
  EXPECT_EQ(roff("a.b"), "a.b");
}

void expect_complete(const Command& command) {
  Arguments arguments(command);
  command.describe(arguments);
  const ManualPage page = manual_page(command);
  EXPECT_NE(page.text.find(roff(command.summary)), std::string::npos);
  EXPECT_NE(page.text.find(roff(command.usage)), std::string::npos);
  for (const auto& option : arguments.options()) {
    for (const std::string& name : option.names)
      EXPECT_NE(page.text.find(roff_bold(name)), std::string::npos) << page.name << " lacks " << name;
    EXPECT_NE(page.text.find(roff(option.metavar)), std::string::npos) << page.name << " lacks " << option.metavar;
    EXPECT_EQ(option.takes_value, !option.metavar.empty()) << page.name << " " << option.names[0];
    EXPECT_NE(page.text.find("\n" + roff(option.help) + "\n"), std::string::npos) << page.name << ": " << option.help;
  }
}

TEST(ManualPage, HasEveryOptionOfEveryCommand) {
  for (const Command& command : commands()) {
    if (command.visible == Visible::yes) expect_complete(command);
  }
  expect_complete(kMcpInstall);
}

TEST(ManualPage, OfCoveHasEveryCommandVariableAndKey) {
  const ManualPage page = manual_overview();
  EXPECT_EQ(page.name, "cove");
  for (const Command& command : commands()) {
    const bool there = page.text.find(roff_bold("cove-" + std::string(command.name)) + "(1)") != std::string::npos;
    EXPECT_EQ(there, command.visible == Visible::yes) << command.name;
  }
  for (const spec::Setting& setting : spec::settings())
    EXPECT_NE(page.text.find(roff_bold(spec::environment_name(setting))), std::string::npos) << setting.key;
  EXPECT_NE(page.text.find(spec::known_keys()), std::string::npos);
}

TEST(ManualPage, IsNamedAfterTheWholeCommand) { EXPECT_EQ(manual_page(kMcpInstall).name, "cove-mcp-install"); }

}  // namespace
}  // namespace cove::cli
