// Ops that compute nothing.
#include "tests/ops/case_list.h"

namespace partita {

void AddRearranging(Cases& cases) {
  cases.Add("concat", "samples", {{"axis", int64_t{0}}}, {Free({2, 3}), Free({5, 3})});
  cases.Add("concat", "channels", {{"axis", int64_t{3}}}, {Free({2, 3, 5, 1}), Free({2, 3, 5, 4}), Free({2, 3, 5, 2})});
  cases.Add("concat", "height", {{"axis", int64_t{1}}}, {Free({2, 3, 5, 3}), Free({2, 1, 5, 3})});
  cases.Add("concat", "places", {{"axis", int64_t{1}}}, {Free({2, 3, 5}), Free({2, 4, 5})});
  cases.Add("concat", "of_places", {{"axis", int64_t{2}}}, {Free({2, 3, 5}), Free({2, 3, 4}), Free({2, 3, 1})});
  cases.Add("concat", "single", {{"axis", int64_t{1}}}, {Free({2, 3})});
  cases.Add("slice", "channels", {{"begin", Ints{0, 2}}, {"size", Ints{5, 3}}}, {Free({5, 7})});
  cases.Add("slice", "box", {{"begin", Ints{1, 0, 2, 1}}, {"size", Ints{2, 5, 1, 1}}}, {Free({3, 5, 3, 3})});
  cases.Add("slice", "places", {{"begin", Ints{0, 1, 2}}, {"size", Ints{3, 4, 2}}}, {Free({3, 5, 7})});
  cases.Add("slice", "whole", {{"begin", Ints{0, 0}}, {"size", Ints{5, 7}}}, {Free({5, 7})});
  cases.Add("reshape", "flatten", {{"shape", Ints{3, 30}}}, {Free({3, 5, 2, 3})});
  cases.Add("reshape", "merge_leading", {{"shape", Ints{15, 6}}}, {Free({3, 5, 6})});
  cases.Add("reshape", "split_leading", {{"shape", Ints{3, 5, 6}}}, {Free({15, 6})});
  cases.Add("reshape", "keep_back", {{"shape", Ints{3, 10, 7}}}, {Free({3, 5, 2, 7})});
  cases.Add("reshape", "unequal_rows", {{"shape", Ints{4, 9, 5}}}, {Free({6, 6, 5})});
  cases.Add("reshape", "ones", {{"shape", Ints{1, 5, 1, 3}}}, {Free({5, 1, 3})});
  cases.Add("transpose", "matrix", {{"permutation", Ints{1, 0}}}, {Free({5, 7})});
  cases.Add("transpose", "sequence", {{"permutation", Ints{0, 2, 1}}}, {Free({3, 5, 4})});
  cases.Add("transpose", "turned", {{"permutation", Ints{2, 0, 1}}}, {Free({3, 5, 4})});
  cases.Add("transpose", "heads", {{"permutation", Ints{0, 2, 1, 3}}}, {Free({2, 3, 5, 2})});
  cases.Add("transpose", "reversed", {{"permutation", Ints{3, 2, 1, 0}}}, {Free({2, 3, 1, 4})});
  cases.Add("transpose", "nothing", {{"permutation", Ints{0, 1}}}, {Free({5, 7})});
}

void AddRearrangingGradients(Cases& cases) {
  cases.Add("slice_grad", "box", {{"begin", Ints{1, 0, 2, 1}}, {"shape", Ints{3, 5, 3, 3}}}, {Fixed({2, 5, 1, 1})});
  cases.Add("slice_grad", "places", {{"begin", Ints{0, 1, 2}}, {"shape", Ints{3, 5, 7}}}, {Fixed({3, 4, 2})});
  cases.Add("slice_grad", "channels", {{"begin", Ints{0, 2}}, {"shape", Ints{5, 7}}}, {Fixed({5, 3})});
}

}  // namespace partita
