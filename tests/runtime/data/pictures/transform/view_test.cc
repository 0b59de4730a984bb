#include "runtime/data/pictures/transform/view.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "runtime/base/philox.h"
#include "runtime/data/pictures/transform/render.h"

namespace partita {
namespace {

const uint64_t kKey = PhiloxKey(7, kPictureViewName);

ViewOptions RandomParts(double least_area) {
  ViewOptions options;
  options.size = {24, 24};
  options.least_area = least_area;
  return options;
}

TEST(MiddleView, CoversWhatIsShownAndKeepsTheAspect) {
  ViewOptions options;
  options.size = {200, 200};
  const View wide = MiddleView(options, {300, 401});
  EXPECT_EQ(wide.scaled, (PictureSize{200, 267}));  // 200 * 401 / 300 = 267.3
  EXPECT_EQ(wide.top, 0);
  EXPECT_EQ(wide.left, 34);  // 33.5 to the even number
  options.resize = 250;
  const View tall = MiddleView(options, {500, 100});
  EXPECT_EQ(tall.scaled, (PictureSize{1250, 250}));
  EXPECT_EQ(tall.top, 525);
  EXPECT_EQ(tall.left, 25);
}

TEST(MiddleView, CoversWhatIsNotSquareToo) {
  ViewOptions options;
  for (const PictureSize shown : {PictureSize{10, 30}, {30, 10}, {7, 7}}) {
    for (const PictureSize picture : {PictureSize{1, 1}, {100, 300}, {300, 100}, {99, 301}, {1, 5000}, {17, 16}}) {
      options.size = shown;
      const View view = MiddleView(options, picture);
      EXPECT_GE(view.scaled.height, shown.height);
      EXPECT_GE(view.scaled.width, shown.width);
      EXPECT_TRUE(view.scaled.height == shown.height || view.scaled.width == shown.width);
      EXPECT_GE(view.top, 0);
      EXPECT_GE(view.left, 0);
    }
  }
}

TEST(DrawView, DependsOnSeedEpochAndSample) {
  const ViewOptions options = RandomParts(0.08);
  const PictureSize picture{300, 400};
  std::set<std::vector<int64_t>> seen;
  for (const uint64_t seed : {1u, 2u}) {
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
      for (int64_t sample = 0; sample < 5; ++sample) {
        const uint64_t key = PhiloxKey(seed, kPictureViewName);
        const View view = DrawView(options, key, epoch, sample, picture);
        EXPECT_EQ(view, DrawView(options, key, epoch, sample, picture));
        seen.insert({view.source.top, view.source.left, view.source.size.height, view.source.size.width});
      }
    }
  }
  EXPECT_EQ(seen.size(), 30u);
}

TEST(DrawView, PartsLieInsideAndHaveAreaAndAspect) {
  const PictureSize picture{300, 400};
  double area = 0, aspect = 0;
  const int count = 4000;
  for (int64_t sample = 0; sample < count; ++sample) {
    const View view = DrawView(RandomParts(0.08), kKey, 0, sample, picture);
    const auto& [top, left, size] = view.source;
    ASSERT_TRUE(top >= 0 && left >= 0 && top + size.height <= 300 && left + size.width <= 400);
    const double share = static_cast<double>(size.pixels()) / 120'000;
    const double ratio = static_cast<double>(size.width) / static_cast<double>(size.height);
    ASSERT_TRUE(share > 0.075 && share <= 1 && ratio > 0.74 && ratio < 1.35);
    area += share / count;
    aspect += std::log(ratio) / count;
    EXPECT_EQ(view.scaled, (PictureSize{24, 24}));
  }
  // As torchvision's loop gives: large parts whose aspect is not the picture's do not fit.
  EXPECT_NEAR(area, 0.432, 0.015);
  EXPECT_NEAR(aspect, 0.031, 0.01);
}

// As torchvision: after ten tries the middle, as large as the aspect allows.
TEST(DrawView, WhatHasNoSuchPartGivesItsMiddle) {
  EXPECT_EQ(DrawView(RandomParts(0.9), kKey, 0, 0, {10, 1000}).source, (Region{0, 493, {10, 13}}));
  EXPECT_EQ(DrawView(RandomParts(0.9), kKey, 0, 0, {1000, 10}).source, (Region{493, 0, {13, 10}}));
  EXPECT_EQ(DrawView(RandomParts(1), kKey, 0, 0, {1, 1}).source, (Region{0, 0, {1, 1}}));
}

TEST(DrawView, MovesMirrorsAndColours) {
  ViewOptions options;
  options.size = {20, 20};
  options.shift = 2;
  options.flip = true;
  options.colour = 0.25;
  std::set<int64_t> tops;
  int flips = 0;
  for (int64_t sample = 0; sample < 400; ++sample) {
    const View view = DrawView(options, kKey, 1, sample, {20, 20});
    tops.insert(view.top);
    flips += view.flip;
    for (const double factor : {view.colour.brightness, view.colour.contrast, view.colour.saturation}) {
      ASSERT_TRUE(factor >= 0.75 && factor <= 1.25);
    }
  }
  EXPECT_EQ(tops, (std::set<int64_t>{-2, -1, 0, 1, 2}));
  EXPECT_NEAR(flips, 200, 40);
}

std::vector<uint8_t> Rendered(const Picture& picture, const View& view, PictureSize size) {
  std::vector<uint8_t> out(static_cast<size_t>(size.pixels() * picture.channels), 77);
  Render(picture, view, size, out);
  return out;
}

TEST(Render, WhatLiesOutsideIsBlack) {
  const Picture picture{{2, 2}, 1, {1, 2, 3, 4}};
  View view;
  view.source.size = view.scaled = {2, 2};
  EXPECT_EQ(Rendered(picture, view, {2, 2}), (std::vector<uint8_t>{1, 2, 3, 4}));
  view.top = -1;
  view.left = 1;
  EXPECT_EQ(Rendered(picture, view, {2, 2}), (std::vector<uint8_t>{0, 0, 2, 0}));
  view.flip = true;
  EXPECT_EQ(Rendered(picture, view, {2, 2}), (std::vector<uint8_t>{0, 0, 0, 2}));
  view.top = 5;
  EXPECT_EQ(Rendered(picture, view, {2, 2}), (std::vector<uint8_t>(4, 0)));
}

TEST(Render, MirrorsWholePixels) {
  const Picture picture{{1, 3}, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9}};
  View view;
  view.source.size = view.scaled = {1, 3};
  view.flip = true;
  EXPECT_EQ(Rendered(picture, view, {1, 3}), (std::vector<uint8_t>{7, 8, 9, 4, 5, 6, 1, 2, 3}));
}

TEST(Colour, EachFactorIsADistance) {
  const std::vector<uint8_t> pixels = {10, 20, 30, 100, 200, 250};  // luma 18.2 and 175.8: mean 97
  const auto adjusted = [&](const ColourFactors& factors) {
    std::vector<uint8_t> out = pixels;
    AdjustColour(factors, 3, out);
    return out;
  };
  EXPECT_EQ(adjusted({}), pixels);
  EXPECT_EQ(adjusted({.brightness = 2}), (std::vector<uint8_t>{20, 40, 60, 200, 255, 255}));
  EXPECT_EQ(adjusted({.brightness = 0}), std::vector<uint8_t>(6, 0));
  EXPECT_EQ(adjusted({.contrast = 0}), std::vector<uint8_t>(6, 97));
  EXPECT_EQ(adjusted({.contrast = 2}), (std::vector<uint8_t>{0, 0, 0, 103, 255, 255}));
  EXPECT_EQ(adjusted({.saturation = 0}), (std::vector<uint8_t>{18, 18, 18, 176, 176, 176}));
  EXPECT_EQ(adjusted({.saturation = 2}), (std::vector<uint8_t>{2, 22, 42, 24, 224, 255}));
  std::vector<uint8_t> grey = {10, 30};
  AdjustColour({.contrast = 0.5, .saturation = 0}, 1, grey);
  EXPECT_EQ(grey, (std::vector<uint8_t>{15, 25}));
}

}  // namespace
}  // namespace partita
