// Sandboxes of images of the store, while that is being cleared.

#include "layers.h"

namespace {

class Images : public Layers {
 protected:
  void SetUp() override {
    Layers::SetUp();
    if (IsSkipped()) return;
    good("mkdir -p tree/etc && echo here > tree/etc/word && cove image import tree mine");
  }
  std::set<std::string> layers() const { return names_in("images/layers"); }
};

// The keeper is held up between the moment when its image was found and the moment when its record names it.
TEST_F(Images, APruneTakesNoLayerOfASandboxThatIsBeingMade) {
  good(
      "printf '#!/bin/sh\\ntouch begun; until [ -e go ]; do sleep 0.01; done; exec cove \"$@\"\\n' > slow; "
      "chmod +x slow; { COVE_PROGRAM=$PWD/slow timeout 300 cove create --image mine t; touch ended; } >/dev/null 2>&1 "
      "& "
      "until [ -e begun ] || [ -e ended ]; do sleep 0.01; done; [ ! -e ended ]");
  refused("cove image rm --force mine && cove image prune", "images are being added or used right now");
  good("touch go; until [ -e ended ]; do sleep 0.01; done");
  EXPECT_EQ(layers().size(), 1U);
  good("cove image prune");
  EXPECT_EQ(layers().size(), 1U) << "now its record names it";
  EXPECT_EQ(good("cove cp t:/etc/word word && cat word"), "here\n");
  good("cove rm t && cove image prune");
  EXPECT_EQ(layers(), std::set<std::string>{});
}

TEST_F(Images, WhatMountsStandOnIsNoChange) {
  good(
      "mkdir ro copy; cove create --checkpoint --image mine --volume $PWD/ro:/data/deep:ro --volume "
      "$PWD/copy:/copy:cow t "
      "&& echo new > file && cove cp file t:/etc/new && cove cp file t:/tmp/new && cove cp file t:/data/new");
  EXPECT_EQ(good("cove diff t --names"), "A data/new\nA etc/new\nA tmp/new\n");
  EXPECT_EQ(good("cove snapshot t s >/dev/null; cove diff t --names; cove diff t --json | grep -c '\"path\"'"),
            "A data/new\nA etc/new\nA tmp/new\n3\n");
}

TEST_F(Images, WhatWasPrunedBeforeIsNotThere) {
  good("cove image rm mine && cove image prune");
  refused("cove create --image mine --pull never t", "image mine is not here");
  EXPECT_EQ(good("cove ls --names"), "");
}

}  // namespace
