// Poolings.
#include "ops/registry.h"
#include "tests/ops/case_list.h"

namespace partita {
namespace {

struct PoolingCase {
  std::string variant;
  Attributes attributes;
  Shape x;
};

std::vector<PoolingCase> Poolings() {
  return {
      {"halves", {{"kernel", Ints{2, 2}}, {"stride", Ints{2, 2}}}, {2, 6, 4, 3}},
      {"remainder", {{"kernel", Ints{2, 3}}, {"stride", Ints{2, 3}}}, {3, 5, 7, 2}},
      {"overlap", {{"kernel", Ints{3, 3}}, {"stride", Ints{2, 1}}, {"padding", Ints{1, 1, 1, 1}}}, {2, 5, 5, 3}},
      {"uneven_padding", {{"kernel", Ints{3, 2}}, {"padding", Ints{2, 0, 0, 1}}}, {2, 4, 3, 5}},
      {"whole", {{"kernel", Ints{3, 5}}}, {2, 3, 5, 1}},
  };
}

}  // namespace

void AddPooling(Cases& cases) {
  for (const PoolingCase& c : Poolings()) {
    cases.Add("max_pool", c.variant, c.attributes, {Spread(c.x)});
    for (const bool count : {true, false}) {
      Attributes attributes = c.attributes;
      attributes.Set("count_padding", count);
      cases.Add("average_pool", c.variant + (count ? "_counted" : "_inside"), attributes, {Free(c.x)});
    }
  }
  cases.Add("global_average_pool", "image", {}, {Free({3, 5, 4, 3})});
  cases.Add("global_average_pool", "pixel", {}, {Free({5, 1, 1, 7})});
}

void AddPoolingGradients(Cases& cases) {
  for (const PoolingCase& c : Poolings()) {
    for (const bool count : {true, false}) {
      Attributes attributes = c.attributes;
      attributes.Set("count_padding", count);
      const OpCase forward{
          "", "average_pool", *CompleteAttributes(*Ops().Find("average_pool"), attributes), {Free(c.x)}};
      const Shape y = ViewOf(forward).outputs[0].shape;
      attributes.Set("shape", c.x);
      cases.Add("average_pool_grad", c.variant + (count ? "_counted" : "_inside"), attributes, {Fixed(y)});
    }
  }
  cases.Add("global_average_pool_grad", "image", {{"shape", Ints{3, 5, 4, 3}}}, {Fixed({3, 3})});
}

}  // namespace partita
