#include "backend/table.h"

#include <gtest/gtest.h>

namespace cove {
namespace {

TEST(Backends, StandInTheOrderOfTheirTraits) {
  const std::vector<Backend*> all = all_backends();
  ASSERT_EQ(all.size(), kBackends.size());
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i]->name(), kBackends[i].name);
}

TEST(Traits, AutoChoosesOnlyBackendsThatIsolate) {
  EXPECT_FALSE(first_choice().empty());
  for (const Traits& traits : kBackends) EXPECT_TRUE(traits.isolates || !traits.not_auto.empty()) << traits.name;
}

TEST(Traits, NothingIsAssumedInFavourOfAnUnknownBackend) {
  const Traits& unknown = traits_of("somebody-elses");
  EXPECT_FALSE(unknown.isolates);
  EXPECT_FALSE(unknown.is_this_machine);
  EXPECT_FALSE(unknown.has_layers);
}

TEST(Traits, ABackendThatIsThisMachineDoesNotIsolate) {
  for (const Traits& traits : kBackends) EXPECT_FALSE(traits.is_this_machine && traits.isolates) << traits.name;
}

}  // namespace
}  // namespace cove
