// Written by tools/peer/golden/bleu.py with sacreBLEU 2.6.0: lines as its tokenizers take them apart.
#ifndef PARTITA_TESTS_RUNTIME_SCORES_SACREBLEU_TOKENS_H_
#define PARTITA_TESTS_RUNTIME_SCORES_SACREBLEU_TOKENS_H_

#include <string>
#include <vector>

#include "runtime/scores/tokens.h"

namespace partita::sacrebleu {

struct Tokenized {
  std::string line;
  TokenOptions options;
  std::string tokens;  // with a space between them
};

inline std::vector<Tokenized> AllTokenized() {
  return {
      {"The cat sat on the mat.", {TokenRule::kNone, false}, "The cat sat on the mat."},
      {"The cat sat on the mat.", {TokenRule::kNone, true}, "the cat sat on the mat."},
      {"The cat sat on the mat.", {TokenRule::k13a, false}, "The cat sat on the mat ."},
      {"The cat sat on the mat.", {TokenRule::k13a, true}, "the cat sat on the mat ."},
      {"The cat sat on the mat.", {TokenRule::kInternational, false}, "The cat sat on the mat ."},
      {"The cat sat on the mat.", {TokenRule::kInternational, true}, "the cat sat on the mat ."},
      {"It costs 1,234.50 dollars (or 3,5 %), doesn't it?",
       {TokenRule::kNone, false},
       "It costs 1,234.50 dollars (or 3,5 %), doesn't it?"},
      {"It costs 1,234.50 dollars (or 3,5 %), doesn't it?",
       {TokenRule::kNone, true},
       "it costs 1,234.50 dollars (or 3,5 %), doesn't it?"},
      {"It costs 1,234.50 dollars (or 3,5 %), doesn't it?",
       {TokenRule::k13a, false},
       "It costs 1,234.50 dollars ( or 3,5 % ) , doesn't it ?"},
      {"It costs 1,234.50 dollars (or 3,5 %), doesn't it?",
       {TokenRule::k13a, true},
       "it costs 1,234.50 dollars ( or 3,5 % ) , doesn't it ?"},
      {"It costs 1,234.50 dollars (or 3,5 %), doesn't it?",
       {TokenRule::kInternational, false},
       "It costs 1,234.50 dollars ( or 3,5 % ) , doesn ' t it ?"},
      {"It costs 1,234.50 dollars (or 3,5 %), doesn't it?",
       {TokenRule::kInternational, true},
       "it costs 1,234.50 dollars ( or 3,5 % ) , doesn ' t it ?"},
      {"  two  spaces\011and a tab \302\240and a no-break one \342\200\203 ",
       {TokenRule::kNone, false},
       "two spaces and a tab and a no-break one"},
      {"  two  spaces\011and a tab \302\240and a no-break one \342\200\203 ",
       {TokenRule::kNone, true},
       "two spaces and a tab and a no-break one"},
      {"  two  spaces\011and a tab \302\240and a no-break one \342\200\203 ",
       {TokenRule::k13a, false},
       "two spaces and a tab and a no-break one"},
      {"  two  spaces\011and a tab \302\240and a no-break one \342\200\203 ",
       {TokenRule::k13a, true},
       "two spaces and a tab and a no-break one"},
      {"  two  spaces\011and a tab \302\240and a no-break one \342\200\203 ",
       {TokenRule::kInternational, false},
       "two spaces and a tab and a no - break one"},
      {"  two  spaces\011and a tab \302\240and a no-break one \342\200\203 ",
       {TokenRule::kInternational, true},
       "two spaces and a tab and a no - break one"},
      {"1990-1995, 4-door; pre-2000 a-b -- end-", {TokenRule::kNone, false}, "1990-1995, 4-door; pre-2000 a-b -- end-"},
      {"1990-1995, 4-door; pre-2000 a-b -- end-", {TokenRule::kNone, true}, "1990-1995, 4-door; pre-2000 a-b -- end-"},
      {"1990-1995, 4-door; pre-2000 a-b -- end-",
       {TokenRule::k13a, false},
       "1990 - 1995 , 4 - door ; pre-2000 a-b -- end-"},
      {"1990-1995, 4-door; pre-2000 a-b -- end-",
       {TokenRule::k13a, true},
       "1990 - 1995 , 4 - door ; pre-2000 a-b -- end-"},
      {"1990-1995, 4-door; pre-2000 a-b -- end-",
       {TokenRule::kInternational, false},
       "1990-1995 , 4 - door ; pre - 2000 a - b - - end -"},
      {"1990-1995, 4-door; pre-2000 a-b -- end-",
       {TokenRule::kInternational, true},
       "1990-1995 , 4 - door ; pre - 2000 a - b - - end -"},
      {"&quot;A&amp;B&quot; &lt;tag&gt; &amp;lt; <skipped>done",
       {TokenRule::kNone, false},
       "&quot;A&amp;B&quot; &lt;tag&gt; &amp;lt; <skipped>done"},
      {"&quot;A&amp;B&quot; &lt;tag&gt; &amp;lt; <skipped>done",
       {TokenRule::kNone, true},
       "&quot;a&amp;b&quot; &lt;tag&gt; &amp;lt; <skipped>done"},
      {"&quot;A&amp;B&quot; &lt;tag&gt; &amp;lt; <skipped>done",
       {TokenRule::k13a, false},
       "\042 A & B \042 < tag > < done"},
      {"&quot;A&amp;B&quot; &lt;tag&gt; &amp;lt; <skipped>done",
       {TokenRule::k13a, true},
       "\042 a & b \042 < tag > < done"},
      {"&quot;A&amp;B&quot; &lt;tag&gt; &amp;lt; <skipped>done",
       {TokenRule::kInternational, false},
       "& quot ; A & amp ; B & quot ; & lt ; tag & gt ; & amp ; lt ; < skipped > done"},
      {"&quot;A&amp;B&quot; &lt;tag&gt; &amp;lt; <skipped>done",
       {TokenRule::kInternational, true},
       "& quot ; a & amp ; b & quot ; & lt ; tag & gt ; & amp ; lt ; < skipped > done"},
      {"\302\253Guillemets\302\273, \342\200\234quotes\342\200\235 \342\200\246 and an em\342\200\224dash; "
       "5\342\202\254 3\303\2274=12 \302\2612\302\260",
       {TokenRule::kNone, false},
       "\302\253Guillemets\302\273, \342\200\234quotes\342\200\235 \342\200\246 and an em\342\200\224dash; "
       "5\342\202\254 3\303\2274=12 \302\2612\302\260"},
      {"\302\253Guillemets\302\273, \342\200\234quotes\342\200\235 \342\200\246 and an em\342\200\224dash; "
       "5\342\202\254 3\303\2274=12 \302\2612\302\260",
       {TokenRule::kNone, true},
       "\302\253guillemets\302\273, \342\200\234quotes\342\200\235 \342\200\246 and an em\342\200\224dash; "
       "5\342\202\254 3\303\2274=12 \302\2612\302\260"},
      {"\302\253Guillemets\302\273, \342\200\234quotes\342\200\235 \342\200\246 and an em\342\200\224dash; "
       "5\342\202\254 3\303\2274=12 \302\2612\302\260",
       {TokenRule::k13a, false},
       "\302\253Guillemets\302\273 , \342\200\234quotes\342\200\235 \342\200\246 and an em\342\200\224dash ; "
       "5\342\202\254 3\303\2274 = 12 \302\2612\302\260"},
      {"\302\253Guillemets\302\273, \342\200\234quotes\342\200\235 \342\200\246 and an em\342\200\224dash; "
       "5\342\202\254 3\303\2274=12 \302\2612\302\260",
       {TokenRule::k13a, true},
       "\302\253guillemets\302\273 , \342\200\234quotes\342\200\235 \342\200\246 and an em\342\200\224dash ; "
       "5\342\202\254 3\303\2274 = 12 \302\2612\302\260"},
      {"\302\253Guillemets\302\273, \342\200\234quotes\342\200\235 \342\200\246 and an em\342\200\224dash; "
       "5\342\202\254 3\303\2274=12 \302\2612\302\260",
       {TokenRule::kInternational, false},
       "\302\253 Guillemets \302\273 , \342\200\234 quotes \342\200\235 \342\200\246 and an em \342\200\224 dash ; 5 "
       "\342\202\254 3 \303\227 4 = 12 \302\261 2 \302\260"},
      {"\302\253Guillemets\302\273, \342\200\234quotes\342\200\235 \342\200\246 and an em\342\200\224dash; "
       "5\342\202\254 3\303\2274=12 \302\2612\302\260",
       {TokenRule::kInternational, true},
       "\302\253 guillemets \302\273 , \342\200\234 quotes \342\200\235 \342\200\246 and an em \342\200\224 dash ; 5 "
       "\342\202\254 3 \303\227 4 = 12 \302\261 2 \302\260"},
      {"Perch\303\251 no? \303\210 vero: l\342\200\231ha detto.",
       {TokenRule::kNone, false},
       "Perch\303\251 no? \303\210 vero: l\342\200\231ha detto."},
      {"Perch\303\251 no? \303\210 vero: l\342\200\231ha detto.",
       {TokenRule::kNone, true},
       "perch\303\251 no? \303\250 vero: l\342\200\231ha detto."},
      {"Perch\303\251 no? \303\210 vero: l\342\200\231ha detto.",
       {TokenRule::k13a, false},
       "Perch\303\251 no ? \303\210 vero : l\342\200\231ha detto ."},
      {"Perch\303\251 no? \303\210 vero: l\342\200\231ha detto.",
       {TokenRule::k13a, true},
       "perch\303\251 no ? \303\250 vero : l\342\200\231ha detto ."},
      {"Perch\303\251 no? \303\210 vero: l\342\200\231ha detto.",
       {TokenRule::kInternational, false},
       "Perch\303\251 no ? \303\210 vero : l \342\200\231 ha detto ."},
      {"Perch\303\251 no? \303\210 vero: l\342\200\231ha detto.",
       {TokenRule::kInternational, true},
       "perch\303\251 no ? \303\250 vero : l \342\200\231 ha detto ."},
      {"\344\275\240\345\245\275\357\274\214\344\270\226\347\225\214\343\200\202\343\200\214\345\274\225\347\224\250"
       "\343\200\215\340\245\247\340\245\250,\340\245\251",
       {TokenRule::kNone, false},
       "\344\275\240\345\245\275\357\274\214\344\270\226\347\225\214\343\200\202\343\200\214\345\274\225\347\224\250"
       "\343\200\215\340\245\247\340\245\250,\340\245\251"},
      {"\344\275\240\345\245\275\357\274\214\344\270\226\347\225\214\343\200\202\343\200\214\345\274\225\347\224\250"
       "\343\200\215\340\245\247\340\245\250,\340\245\251",
       {TokenRule::kNone, true},
       "\344\275\240\345\245\275\357\274\214\344\270\226\347\225\214\343\200\202\343\200\214\345\274\225\347\224\250"
       "\343\200\215\340\245\247\340\245\250,\340\245\251"},
      {"\344\275\240\345\245\275\357\274\214\344\270\226\347\225\214\343\200\202\343\200\214\345\274\225\347\224\250"
       "\343\200\215\340\245\247\340\245\250,\340\245\251",
       {TokenRule::k13a, false},
       "\344\275\240\345\245\275\357\274\214\344\270\226\347\225\214\343\200\202\343\200\214\345\274\225\347\224\250"
       "\343\200\215\340\245\247\340\245\250 , \340\245\251"},
      {"\344\275\240\345\245\275\357\274\214\344\270\226\347\225\214\343\200\202\343\200\214\345\274\225\347\224\250"
       "\343\200\215\340\245\247\340\245\250,\340\245\251",
       {TokenRule::k13a, true},
       "\344\275\240\345\245\275\357\274\214\344\270\226\347\225\214\343\200\202\343\200\214\345\274\225\347\224\250"
       "\343\200\215\340\245\247\340\245\250 , \340\245\251"},
      {"\344\275\240\345\245\275\357\274\214\344\270\226\347\225\214\343\200\202\343\200\214\345\274\225\347\224\250"
       "\343\200\215\340\245\247\340\245\250,\340\245\251",
       {TokenRule::kInternational, false},
       "\344\275\240\345\245\275 \357\274\214 \344\270\226\347\225\214 \343\200\202 \343\200\214 "
       "\345\274\225\347\224\250 \343\200\215 \340\245\247\340\245\250,\340\245\251"},
      {"\344\275\240\345\245\275\357\274\214\344\270\226\347\225\214\343\200\202\343\200\214\345\274\225\347\224\250"
       "\343\200\215\340\245\247\340\245\250,\340\245\251",
       {TokenRule::kInternational, true},
       "\344\275\240\345\245\275 \357\274\214 \344\270\226\347\225\214 \343\200\202 \343\200\214 "
       "\345\274\225\347\224\250 \343\200\215 \340\245\247\340\245\250,\340\245\251"},
      {"ends with a number 2024.", {TokenRule::kNone, false}, "ends with a number 2024."},
      {"ends with a number 2024.", {TokenRule::kNone, true}, "ends with a number 2024."},
      {"ends with a number 2024.", {TokenRule::k13a, false}, "ends with a number 2024 ."},
      {"ends with a number 2024.", {TokenRule::k13a, true}, "ends with a number 2024 ."},
      {"ends with a number 2024.", {TokenRule::kInternational, false}, "ends with a number 2024."},
      {"ends with a number 2024.", {TokenRule::kInternational, true}, "ends with a number 2024."},
      {"...!?.,;: {[(<>)]} @#$%^&*_+=|\134~`/ 'x' \042y\042",
       {TokenRule::kNone, false},
       "...!?.,;: {[(<>)]} @#$%^&*_+=|\134~`/ 'x' \042y\042"},
      {"...!?.,;: {[(<>)]} @#$%^&*_+=|\134~`/ 'x' \042y\042",
       {TokenRule::kNone, true},
       "...!?.,;: {[(<>)]} @#$%^&*_+=|\134~`/ 'x' \042y\042"},
      {"...!?.,;: {[(<>)]} @#$%^&*_+=|\134~`/ 'x' \042y\042",
       {TokenRule::k13a, false},
       ". . . ! ? . , ; : { [ ( < > ) ] } @ # $ % ^ & * _ + = | \134 ~ ` / 'x' \042 y \042"},
      {"...!?.,;: {[(<>)]} @#$%^&*_+=|\134~`/ 'x' \042y\042",
       {TokenRule::k13a, true},
       ". . . ! ? . , ; : { [ ( < > ) ] } @ # $ % ^ & * _ + = | \134 ~ ` / 'x' \042 y \042"},
      {"...!?.,;: {[(<>)]} @#$%^&*_+=|\134~`/ 'x' \042y\042",
       {TokenRule::kInternational, false},
       ". . . ! ? . , ; : { [ ( < > ) ] } @ # $ % ^ & * _ + = | \134 ~ ` / ' x ' \042 y \042"},
      {"...!?.,;: {[(<>)]} @#$%^&*_+=|\134~`/ 'x' \042y\042",
       {TokenRule::kInternational, true},
       ". . . ! ? . , ; : { [ ( < > ) ] } @ # $ % ^ & * _ + = | \134 ~ ` / ' x ' \042 y \042"},
      {"a.b,c 1.a a.1 1. .1 ,2 3,", {TokenRule::kNone, false}, "a.b,c 1.a a.1 1. .1 ,2 3,"},
      {"a.b,c 1.a a.1 1. .1 ,2 3,", {TokenRule::kNone, true}, "a.b,c 1.a a.1 1. .1 ,2 3,"},
      {"a.b,c 1.a a.1 1. .1 ,2 3,", {TokenRule::k13a, false}, "a . b , c 1 . a a . 1 1 . . 1 , 2 3 ,"},
      {"a.b,c 1.a a.1 1. .1 ,2 3,", {TokenRule::k13a, true}, "a . b , c 1 . a a . 1 1 . . 1 , 2 3 ,"},
      {"a.b,c 1.a a.1 1. .1 ,2 3,", {TokenRule::kInternational, false}, "a . b , c 1 . a a . 1 1 . . 1 , 2 3,"},
      {"a.b,c 1.a a.1 1. .1 ,2 3,", {TokenRule::kInternational, true}, "a . b , c 1 . a a . 1 1 . . 1 , 2 3,"},
      {"\302\275\342\205\247.\302\262 \342\221\240,x x,\342\221\240 \331\240.\331\241",
       {TokenRule::kNone, false},
       "\302\275\342\205\247.\302\262 \342\221\240,x x,\342\221\240 \331\240.\331\241"},
      {"\302\275\342\205\247.\302\262 \342\221\240,x x,\342\221\240 \331\240.\331\241",
       {TokenRule::kNone, true},
       "\302\275\342\205\267.\302\262 \342\221\240,x x,\342\221\240 \331\240.\331\241"},
      {"\302\275\342\205\247.\302\262 \342\221\240,x x,\342\221\240 \331\240.\331\241",
       {TokenRule::k13a, false},
       "\302\275\342\205\247 . \302\262 \342\221\240 , x x , \342\221\240 \331\240 . \331\241"},
      {"\302\275\342\205\247.\302\262 \342\221\240,x x,\342\221\240 \331\240.\331\241",
       {TokenRule::k13a, true},
       "\302\275\342\205\267 . \302\262 \342\221\240 , x x , \342\221\240 \331\240 . \331\241"},
      {"\302\275\342\205\247.\302\262 \342\221\240,x x,\342\221\240 \331\240.\331\241",
       {TokenRule::kInternational, false},
       "\302\275\342\205\247.\302\262 \342\221\240 , x x , \342\221\240 \331\240.\331\241"},
      {"\302\275\342\205\247.\302\262 \342\221\240,x x,\342\221\240 \331\240.\331\241",
       {TokenRule::kInternational, true},
       "\302\275\342\205\267.\302\262 \342\221\240 , x x , \342\221\240 \331\240.\331\241"},
      {"STRASSE \303\211T\303\211 \316\221\316\222\316\223 \320\226 \304\260x",
       {TokenRule::kNone, false},
       "STRASSE \303\211T\303\211 \316\221\316\222\316\223 \320\226 \304\260x"},
      {"STRASSE \303\211T\303\211 \316\221\316\222\316\223 \320\226 \304\260x",
       {TokenRule::kNone, true},
       "strasse \303\251t\303\251 \316\261\316\262\316\263 \320\266 i\314\207x"},
      {"STRASSE \303\211T\303\211 \316\221\316\222\316\223 \320\226 \304\260x",
       {TokenRule::k13a, false},
       "STRASSE \303\211T\303\211 \316\221\316\222\316\223 \320\226 \304\260x"},
      {"STRASSE \303\211T\303\211 \316\221\316\222\316\223 \320\226 \304\260x",
       {TokenRule::k13a, true},
       "strasse \303\251t\303\251 \316\261\316\262\316\263 \320\266 i\314\207x"},
      {"STRASSE \303\211T\303\211 \316\221\316\222\316\223 \320\226 \304\260x",
       {TokenRule::kInternational, false},
       "STRASSE \303\211T\303\211 \316\221\316\222\316\223 \320\226 \304\260x"},
      {"STRASSE \303\211T\303\211 \316\221\316\222\316\223 \320\226 \304\260x",
       {TokenRule::kInternational, true},
       "strasse \303\251t\303\251 \316\261\316\262\316\263 \320\266 i\314\207x"},
      {"", {TokenRule::kNone, false}, ""},
      {"", {TokenRule::kNone, true}, ""},
      {"", {TokenRule::k13a, false}, ""},
      {"", {TokenRule::k13a, true}, ""},
      {"", {TokenRule::kInternational, false}, ""},
      {"", {TokenRule::kInternational, true}, ""},
  };
}

}  // namespace partita::sacrebleu

#endif  // PARTITA_TESTS_RUNTIME_SCORES_SACREBLEU_TOKENS_H_
