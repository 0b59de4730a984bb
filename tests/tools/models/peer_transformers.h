// Written by tools/peer/golden/transformer_models.py with transformers 5.24.0, torchvision 0.29.2 and PyTorch 2.15.0:
// losses and gradients of one step in f64.
#ifndef PARTITA_TESTS_TOOLS_MODELS_PEER_TRANSFORMERS_H_
#define PARTITA_TESTS_TOOLS_MODELS_PEER_TRANSFORMERS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace partita {

inline constexpr int64_t kBertSamples = 3;
inline constexpr int64_t kBertPlaces = 7;
inline constexpr int64_t kBertPositions = 9;
inline constexpr int64_t kBertWords = 17;
inline constexpr int64_t kBertSegments = 2;
inline constexpr int64_t kBertWidth = 12;
inline constexpr int64_t kBertHeads = 3;
inline constexpr int64_t kBertLayers = 2;
inline constexpr int64_t kBertClasses = 4;
inline constexpr int64_t kVitSamples = 3;
inline constexpr int64_t kVitImage = 12;
inline constexpr int64_t kVitPatch = 4;
inline constexpr int64_t kVitChannels = 3;
inline constexpr int64_t kVitClasses = 5;
inline constexpr int64_t kVitWidth = 12;
inline constexpr int64_t kVitHeads = 3;
inline constexpr int64_t kVitLayers = 2;
inline constexpr int64_t kSwinSamples = 3;
inline constexpr int64_t kSwinImage = 16;
inline constexpr int64_t kSwinPatch = 2;
inline constexpr int64_t kSwinChannels = 3;
inline constexpr int64_t kSwinWindow = 2;
inline constexpr int64_t kSwinClasses = 5;
inline constexpr int64_t kSwinWidth = 6;
inline constexpr int64_t kT5Samples = 3;
inline constexpr int64_t kT5Source = 7;
inline constexpr int64_t kT5Target = 5;
inline constexpr int64_t kT5Words = 17;
inline constexpr int64_t kT5Width = 12;
inline constexpr int64_t kT5Heads = 3;
inline constexpr int64_t kT5Layers = 2;
inline constexpr int64_t kT5Distances = 8;
inline constexpr int64_t kT5Longest = 6;
inline constexpr int64_t kUnetSamples = 3;
inline constexpr int64_t kUnetImage = 8;
inline constexpr int64_t kUnetChannels = 2;
inline constexpr int64_t kUnetClasses = 3;
inline constexpr int64_t kUnetWidth = 4;
inline constexpr int64_t kUnetHalvings = 2;
inline constexpr double kVitSmoothing = 0.11;

// Element i of parameter k of a step's list; 1 more if it is a gain or gamma. Pictures are as parameter 100.
inline double PeerValue(int64_t k, int64_t i) {
  return static_cast<double>((7 * i + 13 * k + 5 * (i * i % 11)) % 23 - 11) / 32;
}
inline int64_t PeerLength(int64_t n) { return kBertPlaces - 2 * n; }
// Word 0 is padding, whose row has no gradient there.
inline int64_t PeerWord(int64_t n, int64_t t) { return t < PeerLength(n) ? 1 + (5 * n + 3 * t) % (kBertWords - 1) : 0; }
inline int64_t PeerSegment(int64_t n, int64_t t) { return t > 2 + n ? 1 : 0; }
inline int64_t PeerLabel(int64_t n, int64_t t) {
  return (n + t) % 3 == 0 && t < PeerLength(n) ? (7 * n + 2 * t) % kBertWords : -100;
}
inline int64_t PeerClass(int64_t n) { return n % kBertClasses; }
inline int64_t PeerPicture(int64_t n) { return (2 * n + 1) % kVitClasses; }
inline int64_t PeerPixel(int64_t i) { return (2 * i + i / 7) % kUnetClasses; }
// Of T5: word t of sample n, times 5 in what is read, 7 in what the decoder reads and 2 in what follows there.
inline int64_t PeerPairWord(int64_t n, int64_t t, int64_t factor) { return 1 + (factor * n + 3 * t) % (kT5Words - 1); }
inline int64_t PeerSourceLength(int64_t n) { return kT5Source - 2 * n; }
inline int64_t PeerTargetLength(int64_t n) { return kT5Target - n; }
// The factor of element i of a gradient in PeerGradient::along.
inline double PeerPattern(int64_t i) { return static_cast<double>((5 * i + 3) % 7 - 3); }

struct PeerGradient {
  std::string parameter;
  double along, norm;  // its product with the pattern, and its norm
};

struct PeerStep {
  double loss;
  std::vector<PeerGradient> gradients;
};

// BertForMaskedLM.
inline PeerStep BertOfWords() {
  return {3.0069712854682558,
          {
              {"words/table", -1.520857330473737, 1.6076366263950004},
              {"positions/table", -0.252442967653264, 0.488359303846398},
              {"segments/table", 0.5317006478967677, 0.5069545623649594},
              {"embedding/norm/gain", 0.5475208389771691, 0.1569373130441508},
              {"embedding/norm/offset", -0.1652586367204761, 0.1677986880097831},
              {"block1/query/weights", 0.04003993925916737, 0.06429362469503058},
              {"block1/query/bias/values", -0.02188456109357282, 0.0208417610604593},
              {"block1/key/weights", 0.1930634881886888, 0.09700007667230386},
              {"block1/key/bias/values", -9.215718466126788e-18, 1.2834407792365301e-17},
              {"block1/value/weights", -0.8439665564613115, 0.3372175221548734},
              {"block1/value/bias/values", 0.5050857044053454, 0.12543283283121298},
              {"block1/output/weights", -1.1389420480675922, 0.4316722389923812},
              {"block1/output/bias/values", -0.237451100090461, 0.13903509717472765},
              {"block1/norm1/gain", 0.3621979447680897, 0.13429993949084504},
              {"block1/norm1/offset", -0.23505993604618133, 0.13071197932162357},
              {"block1/up/weights", -0.9359236091114986, 0.45600684193419594},
              {"block1/up/bias/values", -0.21486212865864832, 0.11616251142395492},
              {"block1/down/weights", -0.4366803421658204, 0.4901797540456371},
              {"block1/down/bias/values", -0.11375293303948816, 0.12105061026093347},
              {"block1/norm2/gain", 0.28535518666991605, 0.20251848785958826},
              {"block1/norm2/offset", -0.17235317754404778, 0.18309140174990404},
              {"block2/query/weights", 0.0953569979142105, 0.04584890635152957},
              {"block2/query/bias/values", 0.005488189142799748, 0.009927090044124927},
              {"block2/key/weights", 0.200211251271684, 0.07059357682667189},
              {"block2/key/bias/values", 2.233456475320139e-17, 1.4116295631340192e-17},
              {"block2/value/weights", 0.689564738937376, 0.32722361044964293},
              {"block2/value/bias/values", 0.3421887366567069, 0.11670586684869258},
              {"block2/output/weights", -0.03012733014328045, 0.4922450373112631},
              {"block2/output/bias/values", -0.1826197989299962, 0.1682724456335721},
              {"block2/norm1/gain", -0.04010162627121108, 0.1655706761320846},
              {"block2/norm1/offset", -0.12961648101547335, 0.1709060546091159},
              {"block2/up/weights", -1.0102684336180812, 0.5966021228957584},
              {"block2/up/bias/values", -0.6724266898537732, 0.15381092269599567},
              {"block2/down/weights", 0.223230851256727, 0.6842006968451391},
              {"block2/down/bias/values", 0.014203611661438006, 0.15578535381702358},
              {"block2/norm2/gain", 0.6818803893929964, 0.2972738885054108},
              {"block2/norm2/offset", 0.21791364559337736, 0.2647694188931557},
              {"transform/weights", -0.12670826623754383, 1.3055703953458793},
              {"transform/bias/values", -0.25916163364624467, 0.37627433116131886},
              {"transform/norm/gain", 1.1124688835495053, 0.3621555581421552},
              {"transform/norm/offset", -0.69899019612687, 0.3044968082176162},
              {"logits/bias/values", -0.4026355879633894, 0.37779603880312873},
          }};
}

// BertForSequenceClassification.
inline PeerStep BertClassifier() {
  return {1.5635854967062066,
          {
              {"words/table", 1.0674250521944784, 0.5528397658216343},
              {"positions/table", -0.9701668625905279, 0.3575964599873166},
              {"segments/table", -1.280079128036601, 0.389435356751958},
              {"embedding/norm/gain", 0.017657076133184686, 0.13234184441846816},
              {"embedding/norm/offset", -0.44591430066780724, 0.15460270677882015},
              {"block1/query/weights", -0.05009722021689156, 0.07099719955236679},
              {"block1/query/bias/values", 0.01867042747779972, 0.02122782093779472},
              {"block1/key/weights", 0.021493974122308645, 0.0759700011498876},
              {"block1/key/bias/values", -1.431146867680866e-17, 5.511331420378193e-18},
              {"block1/value/weights", -0.33536636832685174, 0.2956919817816627},
              {"block1/value/bias/values", 0.15271706774820518, 0.09132398219016045},
              {"block1/output/weights", -0.91033565986156, 0.3579556885693446},
              {"block1/output/bias/values", -0.29228169482357236, 0.13347399377638677},
              {"block1/norm1/gain", -0.07680612910765171, 0.09985160442718927},
              {"block1/norm1/offset", -0.2489079066506717, 0.11031984355371444},
              {"block1/up/weights", -0.931602968495965, 0.3126686903779154},
              {"block1/up/bias/values", 0.12103720811627115, 0.09314021248639498},
              {"block1/down/weights", -0.6288601594014207, 0.3207598786510259},
              {"block1/down/bias/values", -0.14516180705301934, 0.1114317347181772},
              {"block1/norm2/gain", 0.25287148573609974, 0.15293200417467726},
              {"block1/norm2/offset", -0.22151654288986217, 0.1445269691057804},
              {"block2/query/weights", 0.12620988174121153, 0.04014614303542903},
              {"block2/query/bias/values", 0.01264953847478272, 0.010102746978966329},
              {"block2/key/weights", 0.1179282145079506, 0.054422879202710016},
              {"block2/key/bias/values", -3.165870343657673e-17, 1.111452659036426e-17},
              {"block2/value/weights", 0.2878348817567988, 0.27772238294074286},
              {"block2/value/bias/values", 0.04848904314062914, 0.09415986292141897},
              {"block2/output/weights", 0.11223268506173095, 0.3401424281349921},
              {"block2/output/bias/values", -0.1256681128086195, 0.12772312097203034},
              {"block2/norm1/gain", 0.12078415536222606, 0.15465932082143966},
              {"block2/norm1/offset", -0.03240256081396295, 0.13833995439612431},
              {"block2/up/weights", -0.2730925515557806, 0.3925250797532101},
              {"block2/up/bias/values", -0.03339217569149397, 0.12050055634132988},
              {"block2/down/weights", -0.42664966868279336, 0.39032007281691455},
              {"block2/down/bias/values", 0.03668315066541539, 0.11048465633931007},
              {"block2/norm2/gain", 0.7720915275912357, 0.23823448633085664},
              {"block2/norm2/offset", 0.1531575808818882, 0.16614323320203375},
              {"pooler/weights", -1.4623708856522804, 0.796138193198917},
              {"pooler/bias/values", 0.22059993248999454, 0.19104496718720365},
              {"logits/weights", -3.605143789465849, 0.9064340046324209},
              {"logits/bias/values", -0.28068426118757706, 0.4200805195014427},
          }};
}

// VisionTransformer.
inline PeerStep VitStep() {
  return {1.6763187701587892,
          {
              {"patches/conv/weights", -0.06542686003815135, 0.203872185165096},
              {"patches/bias/values", 1.6942726165490827, 0.34665054288894837},
              {"class/token", 0.22186012867357197, 0.250227332356839},
              {"positions/table", -0.27263011155215255, 0.28552533911707023},
              {"block1/norm1/gain", -0.20926410561682385, 0.0728549974021555},
              {"block1/norm1/offset", 0.7410755974729173, 0.1508455579046925},
              {"block1/query/weights", -0.05604010077286484, 0.09730629606294507},
              {"block1/query/bias/values", -0.0014162949846995426, 0.034436609787716184},
              {"block1/key/weights", 0.7897104763683996, 0.13667431354162632},
              {"block1/key/bias/values", 2.6020852139652106e-17, 1.2305097615598945e-17},
              {"block1/value/weights", -1.248897157020004, 0.414669351983863},
              {"block1/value/bias/values", -0.2062526976112484, 0.1869621071809673},
              {"block1/output/weights", 0.1433903192353086, 0.32280487474337793},
              {"block1/output/bias/values", -0.15194661673736934, 0.2777577265928371},
              {"block1/norm2/gain", -0.11465790434692537, 0.08957165372307552},
              {"block1/norm2/offset", -0.04933003940960193, 0.10609516689241207},
              {"block1/up/weights", -1.5170066764476255, 0.5040615865619632},
              {"block1/up/bias/values", 0.6498570476651094, 0.13707862693601688},
              {"block1/down/weights", -1.885960451583589, 0.7376357251198123},
              {"block1/down/bias/values", -0.023811628484258385, 0.1728540510547067},
              {"block2/norm1/gain", 0.07140776381663627, 0.057868991822614194},
              {"block2/norm1/offset", 0.17503914277008983, 0.06198382494183929},
              {"block2/query/weights", 0.041003621560305285, 0.03211867704949651},
              {"block2/query/bias/values", -0.012990606061641857, 0.009949573013651878},
              {"block2/key/weights", 0.09795089735363759, 0.026661875843331836},
              {"block2/key/bias/values", 1.6805133673525319e-18, 5.608847258027399e-18},
              {"block2/value/weights", -1.294486071442452, 0.25018242484722925},
              {"block2/value/bias/values", 0.22199914660324566, 0.08652952903431801},
              {"block2/output/weights", 0.2877590563761443, 0.35696050552391817},
              {"block2/output/bias/values", -0.14725151352267538, 0.15589580027242853},
              {"block2/norm2/gain", -0.20348968494622274, 0.09053851668913758},
              {"block2/norm2/offset", -0.2141086480566874, 0.10540988137170812},
              {"block2/up/weights", 0.15383181958366204, 0.4318797742708364},
              {"block2/up/bias/values", -0.01968645251021034, 0.11837489572733245},
              {"block2/down/weights", -0.5631393432367799, 0.5426054951981802},
              {"block2/down/bias/values", 0.06397335064770444, 0.15425140649768385},
              {"norm/gain", -0.11378024603866539, 0.3201285848813538},
              {"norm/offset", 0.001147599227079854, 0.26125840704556846},
              {"logits/weights", 3.9295771206752237, 1.678806237707745},
              {"logits/bias/values", -0.5630192245829537, 0.44585300584221693},
          }};
}

// SwinTransformer.
inline PeerStep SwinStep() {
  return {1.5601240965600984,
          {
              {"patches/weights", -0.15167792027866428, 0.13163327601602628},
              {"patches/bias/values", 0.23300476448664906, 0.25326955177911903},
              {"patches/norm/gain", -0.13567294336749364, 0.06109540705394447},
              {"patches/norm/offset", 0.03900996778485897, 0.05994698775228278},
              {"stage1/1/norm1/gain", -0.05071533597695464, 0.02047895762822363},
              {"stage1/1/norm1/offset", 0.06970512991236594, 0.01948284611608902},
              {"stage1/1/query/weights", 0.0059443809263274, 0.0016783869864245486},
              {"stage1/1/query/bias/values", 0.0006692822168025726, 0.0007049979521765268},
              {"stage1/1/key/weights", -0.0023824589653092735, 0.002342991691992391},
              {"stage1/1/key/bias/values", -2.4864652166649986e-18, 9.161681388347898e-19},
              {"stage1/1/value/weights", 0.09461055037215374, 0.10016006583101691},
              {"stage1/1/value/bias/values", 0.012235528990511668, 0.04018026435951649},
              {"stage1/1/positions/table", -0.004679209315978076, 0.0021928705988723102},
              {"stage1/1/output/weights", 0.01206447307780518, 0.049630816893017855},
              {"stage1/1/output/bias/values", -0.035060095356473704, 0.05250325678521134},
              {"stage1/1/norm2/gain", -0.008346042426899895, 0.02651777085860406},
              {"stage1/1/norm2/offset", 0.01625427309402223, 0.020063405314655457},
              {"stage1/1/up/weights", 0.27647288319257973, 0.0903009143876294},
              {"stage1/1/up/bias/values", -0.020571631188967945, 0.04046570702273452},
              {"stage1/1/down/weights", -0.23311431862520443, 0.06977969231233624},
              {"stage1/1/down/bias/values", -0.03061549005521908, 0.06408626372461693},
              {"stage1/2/norm1/gain", -0.014320432346669711, 0.006563729128515819},
              {"stage1/2/norm1/offset", 0.009047111639646298, 0.007381925670988901},
              {"stage1/2/query/weights", 0.001598753883404269, 0.0015426744393773506},
              {"stage1/2/query/bias/values", 0.0004418080485058937, 0.0009406459205711546},
              {"stage1/2/key/weights", 0.005294422352276496, 0.002733924319932804},
              {"stage1/2/key/bias/values", -1.4896662564242973e-18, 4.2912480306785633e-19},
              {"stage1/2/value/weights", -0.11432869280857114, 0.05138081248270779},
              {"stage1/2/value/bias/values", -0.029964404113418365, 0.02965817381499392},
              {"stage1/2/positions/table", -0.005943503948655772, 0.001729961428184543},
              {"stage1/2/output/weights", 0.0430065663747903, 0.0735542774847311},
              {"stage1/2/output/bias/values", -0.028857951353635065, 0.06337453716031996},
              {"stage1/2/norm2/gain", 0.03106662555795211, 0.03073374258662037},
              {"stage1/2/norm2/offset", -0.06058308376884699, 0.026978228555130046},
              {"stage1/2/up/weights", 0.4972651749708598, 0.11801597743456349},
              {"stage1/2/up/bias/values", 0.08277645913916791, 0.04368902171391401},
              {"stage1/2/down/weights", 0.26813593268294883, 0.1093784470368315},
              {"stage1/2/down/bias/values", -0.026080242779949595, 0.05826411650478409},
              {"stage2/merge/norm/gain", -0.04847719799276291, 0.07761303361978361},
              {"stage2/merge/norm/offset", 0.11104660195606135, 0.07734430357414684},
              {"stage2/merge/weights", -1.2256972978166913, 0.4238737159094734},
              {"stage2/1/norm1/gain", 0.03568989934465225, 0.027594350526729844},
              {"stage2/1/norm1/offset", 0.029904551784863825, 0.0412470618820747},
              {"stage2/1/query/weights", 0.027169289630273673, 0.008903991536772377},
              {"stage2/1/query/bias/values", 0.004921365704481782, 0.0023577028633590185},
              {"stage2/1/key/weights", 0.004517870682669404, 0.0072425062638058904},
              {"stage2/1/key/bias/values", 6.126165791016727e-18, 2.1387149277041094e-18},
              {"stage2/1/value/weights", -0.5936186259056684, 0.2642802416057118},
              {"stage2/1/value/bias/values", -0.0034448993958543783, 0.07067667975698243},
              {"stage2/1/positions/table", -0.004806297612284278, 0.0017822836524730558},
              {"stage2/1/output/weights", -0.031091989806968562, 0.2142652839043089},
              {"stage2/1/output/bias/values", 0.14434806688923474, 0.08206437833479964},
              {"stage2/1/norm2/gain", -0.04053817530641835, 0.05084890131650162},
              {"stage2/1/norm2/offset", -0.05549810705295628, 0.043106913018178025},
              {"stage2/1/up/weights", -0.25322729988308595, 0.25618737380879836},
              {"stage2/1/up/bias/values", 0.3587750635627278, 0.06862993363264865},
              {"stage2/1/down/weights", -0.7712984748869105, 0.34224196806697205},
              {"stage2/1/down/bias/values", 0.16758205561901401, 0.08488157833287233},
              {"stage2/2/norm1/gain", 0.07439406983579307, 0.03850695474626783},
              {"stage2/2/norm1/offset", -0.00909630277536734, 0.03491928849090039},
              {"stage2/2/query/weights", -0.0064397957228140915, 0.0032898042618149203},
              {"stage2/2/query/bias/values", 0.00280452038789112, 0.00106882466830979},
              {"stage2/2/key/weights", -0.00045811871925170505, 0.002865183701475353},
              {"stage2/2/key/bias/values", 2.0582900618279498e-19, 1.0981908792745839e-18},
              {"stage2/2/value/weights", -0.4071036372239576, 0.1540137886340777},
              {"stage2/2/value/bias/values", -0.04939451114637218, 0.050296251481655126},
              {"stage2/2/positions/table", 4.306395362784431e-05, 0.0013532093598591143},
              {"stage2/2/output/weights", 0.46622146924165175, 0.2047120182821591},
              {"stage2/2/output/bias/values", 0.17587100214531906, 0.07949268626823834},
              {"stage2/2/norm2/gain", -0.05036490846380428, 0.047355575283255354},
              {"stage2/2/norm2/offset", -0.13722331315707734, 0.051993101198185364},
              {"stage2/2/up/weights", -0.3321199178773191, 0.22113029674343193},
              {"stage2/2/up/bias/values", -0.0848025174933947, 0.07241600156421013},
              {"stage2/2/down/weights", -0.610522465286686, 0.21718253092974188},
              {"stage2/2/down/bias/values", 0.26032937459678046, 0.07884628316964477},
              {"stage2/3/norm1/gain", -0.03842042007306793, 0.035810354107761046},
              {"stage2/3/norm1/offset", 0.02789395573215253, 0.03462941751290402},
              {"stage2/3/query/weights", 0.004642719689009571, 0.003563587476807038},
              {"stage2/3/query/bias/values", -0.0027515132956000216, 0.0008896917705768292},
              {"stage2/3/key/weights", 0.0036366220085815425, 0.0028965421209418115},
              {"stage2/3/key/bias/values", -3.9132922163148676e-19, 6.858780970398001e-19},
              {"stage2/3/value/weights", 0.4122603723746827, 0.1945591548957671},
              {"stage2/3/value/bias/values", 0.03017809438579206, 0.04910473843981131},
              {"stage2/3/positions/table", 0.0018523329645085715, 0.0009806683432464181},
              {"stage2/3/output/weights", -0.31524982761887216, 0.20304350124124623},
              {"stage2/3/output/bias/values", 0.24173799511743624, 0.07412023323748426},
              {"stage2/3/norm2/gain", -0.11644052614149787, 0.04772846933347363},
              {"stage2/3/norm2/offset", -0.03998181819676712, 0.05157021354664218},
              {"stage2/3/up/weights", -0.7727512776062335, 0.3304108005648203},
              {"stage2/3/up/bias/values", 0.1263155455925484, 0.08750676299434922},
              {"stage2/3/down/weights", -1.5137674662837772, 0.3667885629607652},
              {"stage2/3/down/bias/values", 0.24759376747102246, 0.0840998041230027},
              {"norm/gain", 0.45195530506197534, 0.13227672508886287},
              {"norm/offset", 0.4717976122350524, 0.19084610765479879},
              {"logits/weights", 0.8449582391781697, 0.9090349747761215},
              {"logits/bias/values", 0.7926601816088444, 0.30518465344152634},
          }};
}

// T5ForConditionalGeneration.
inline PeerStep T5Step() {
  return {2.7851320872099254,
          {
              {"words/table", 0.4050998764320274, 0.3615744789632942},
              {"encoder/distances/table", 0.012633264224916011, 0.010755358120140491},
              {"encoder1/norm1/gain", -0.10823096416794904, 0.04559439763963208},
              {"encoder1/query/weights", -0.006215550894977856, 0.051658048726691864},
              {"encoder1/key/weights", -0.23107595053912375, 0.0804003677826451},
              {"encoder1/value/weights", -0.1697868272350581, 0.1622872245507607},
              {"encoder1/output/weights", 0.3456604088474473, 0.20763411516389424},
              {"encoder1/norm2/gain", -0.020257472942689585, 0.035846578197062016},
              {"encoder1/up/weights", -0.18475984869690248, 0.16448395261163973},
              {"encoder1/down/weights", -0.42397672267231873, 0.16216154188009352},
              {"encoder2/norm1/gain", 0.01708319535993663, 0.015017967954127574},
              {"encoder2/query/weights", 0.023378774536586655, 0.02335942583192592},
              {"encoder2/key/weights", -0.019896813317591695, 0.019092363231569504},
              {"encoder2/value/weights", -0.46581907366139913, 0.07921205582098104},
              {"encoder2/output/weights", -0.18977686408222327, 0.07143120531329143},
              {"encoder2/norm2/gain", -0.011225073377202237, 0.021733076120782624},
              {"encoder2/up/weights", -0.024361380265496224, 0.11178584921326527},
              {"encoder2/down/weights", -0.29957326900540704, 0.10203546998265095},
              {"encoder/norm/gain", -0.07955338181181379, 0.019876844860514872},
              {"decoder/distances/table", 0.007226698592230173, 0.013145820103101091},
              {"decoder1/norm1/gain", 0.03119016689985951, 0.028055933496472736},
              {"decoder1/query/weights", 0.2039154657848701, 0.06015599422002867},
              {"decoder1/key/weights", 0.05654921065695494, 0.06863691187493363},
              {"decoder1/value/weights", -0.035940078191192576, 0.09932440630183131},
              {"decoder1/output/weights", -0.09776717904717117, 0.0949324527235252},
              {"decoder1/source/norm/gain", 0.008813796448461843, 0.0045502725030170605},
              {"decoder1/source/query/weights", 0.07394153883085909, 0.021278643407272015},
              {"decoder1/source/key/weights", 0.04169990467996616, 0.03560939520445499},
              {"decoder1/source/value/weights", 0.037581280540956, 0.1191060520428779},
              {"decoder1/source/output/weights", -0.20367464604144092, 0.09676687692310726},
              {"decoder1/norm2/gain", 0.017438048514276334, 0.024402684221554356},
              {"decoder1/up/weights", -0.26745931319958444, 0.13069781513192674},
              {"decoder1/down/weights", -0.07912878299539183, 0.1629461899117347},
              {"decoder2/norm1/gain", -0.008128206235701237, 0.03088770179235381},
              {"decoder2/query/weights", 0.018514878603946586, 0.00850076319934697},
              {"decoder2/key/weights", -0.012323184577772966, 0.010574899374148775},
              {"decoder2/value/weights", 0.09544452453794344, 0.08435638976253304},
              {"decoder2/output/weights", 0.1993313155263071, 0.09870577626157453},
              {"decoder2/source/norm/gain", -0.011479673248369106, 0.004006870351853708},
              {"decoder2/source/query/weights", 0.05951697154319115, 0.017828876283125225},
              {"decoder2/source/key/weights", 0.012765183539908537, 0.017775574564227133},
              {"decoder2/source/value/weights", 0.02294622367033604, 0.08431474258483854},
              {"decoder2/source/output/weights", -0.2788307190294811, 0.08614176613255042},
              {"decoder2/norm2/gain", -0.03325580715434225, 0.026729507485501992},
              {"decoder2/up/weights", 0.26373039200587955, 0.1822724122044447},
              {"decoder2/down/weights", 0.3823026480178009, 0.14239640684242588},
              {"decoder/norm/gain", -0.030813178566735412, 0.04321196525058897},
          }};
}

// A U-Net of PyTorch's layers.
inline PeerStep UnetStep() {
  return {1.0968518446478792,
          {
              {"down0/1/conv/weights", -0.16367246293541743, 0.09299996438603736},
              {"down0/1/batch_norm/gamma", 0.021897910707734437, 0.009469656528319204},
              {"down0/1/batch_norm/beta", 0.02607594412521466, 0.012599357640373484},
              {"down0/2/conv/weights", -0.16606206894804873, 0.09401408790117262},
              {"down0/2/batch_norm/gamma", -0.016135351299317494, 0.007367879235299844},
              {"down0/2/batch_norm/beta", -0.004747536944685009, 0.006915395484724874},
              {"down1/1/conv/weights", -0.07750749504074565, 0.04459517997350721},
              {"down1/1/batch_norm/gamma", 0.00720480754990037, 0.012463244257215764},
              {"down1/1/batch_norm/beta", 0.00015238145365800877, 0.007967966507623771},
              {"down1/2/conv/weights", 0.1644738959051418, 0.03626867839200779},
              {"down1/2/batch_norm/gamma", 0.004299433288490015, 0.009828941109439543},
              {"down1/2/batch_norm/beta", 0.007596168825396098, 0.007375158626263324},
              {"down2/1/conv/weights", -0.028494185637929513, 0.024653472659677413},
              {"down2/1/batch_norm/gamma", -0.0021312915760526166, 0.003344254849787784},
              {"down2/1/batch_norm/beta", 0.003713477704553536, 0.0037389474872829578},
              {"down2/2/conv/weights", 0.029887220824359295, 0.023103120625171024},
              {"down2/2/batch_norm/gamma", 0.006279651095971136, 0.005325056872471829},
              {"down2/2/batch_norm/beta", 0.008124435532119785, 0.0037561636836783794},
              {"up1/double/weights", 0.06489949910316094, 0.02252066085062138},
              {"up1/bias/values", -0.003359022923037594, 0.0032175949539870936},
              {"up1/1/conv/weights", 0.03001615580771733, 0.03280117477347314},
              {"up1/1/batch_norm/gamma", 0.007409750444253686, 0.004321309772681214},
              {"up1/1/batch_norm/beta", -0.014023368558785547, 0.006629956628944},
              {"up1/2/conv/weights", -0.019415848743462305, 0.03496635060461318},
              {"up1/2/batch_norm/gamma", 0.00857752966560282, 0.00724936827797153},
              {"up1/2/batch_norm/beta", 0.015287739874352892, 0.006832055148642226},
              {"up0/double/weights", 0.035452209945060084, 0.03165996508402796},
              {"up0/bias/values", 0.0024524861090754408, 0.0028865528960903297},
              {"up0/1/conv/weights", -0.1502791934378614, 0.05669869224498543},
              {"up0/1/batch_norm/gamma", 0.021729346683284738, 0.007799190083999154},
              {"up0/1/batch_norm/beta", 0.021515231278409944, 0.007427796794575511},
              {"up0/2/conv/weights", 0.03683615672633239, 0.060512051420358495},
              {"up0/2/batch_norm/gamma", -0.01254860155314136, 0.022738999086596427},
              {"up0/2/batch_norm/beta", -0.002639208429113759, 0.023068024502644738},
              {"logits/weights", -0.11019294264480961, 0.13163849190038066},
              {"logits/bias/values", 0.10357805650376221, 0.06875162282244864},
          }};
}

}  // namespace partita

#endif  // PARTITA_TESTS_TOOLS_MODELS_PEER_TRANSFORMERS_H_
