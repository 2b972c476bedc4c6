#pragma once
// Session files as texts, and what reading one says.

#include <QByteArray>

#include "model/session.h"
#include "tests/support/scratch.h"

namespace counterpoint::tests {

inline constexpr const char* kSample = R"({"format":"counterpoint.session/1","prompt":"Once upon a time","prompt_ids":null,"mode":"generate","rule":"product",
 "base":{"name":"base","path":"model","temperature":1.0,"prefix":"","routing":{"mode":"coupled","rho":0.5,"alpha":0.5,"window":8,"groups":null,"pairs":null,"temperature":1.0,"seed":7,"capacity":1.0}},
 "specialists":[{"name":"math","path":"math","enabled":true,"weight":1.0,"reference":"base","temperature":1.0,"prefix":"","mask":{"tokens":null,"positions":null}}],
 "priors":[{"bank":"demo.bank.json","enabled":true,"weight":1.0,"overrides":{"prefer get":{"eta":1.5,"enabled":true}}}],
 "decoding":{"temperature":0.7,"top_k":0,"top_p":1.0,"min_p":0.0,"seed":7,"stream":0,"max_new_tokens":128,"eos_policy":"sum","stop_ids":null,"add_bos":"auto","score_prompt":true,
             "plausibility":null,"floor":30.0,"common_shift":false,"kl_budget":null,"active_epsilon":0.1}})";

inline constexpr const char* kRich = R"({"format":"counterpoint.session/1","prompt":"Es war","prompt_ids":[1,5,7],"mode":"score","rule":"mixture",
 "base":{"name":"big","path":"m","temperature":0.5,"prefix":"Say: ","sha256":"abababababababababababababababababababababababababababababababab","x-base":[1,{"y":null}]},
 "specialists":[{"name":"a","path":"/abs/a","enabled":false,"weight":-0.25,"reference":"none","temperature":2.0,"prefix":"","mask":{"tokens":[3,4],"positions":[[0,4],[9,9]],"note":"n"},"colour":"red"},
                {"name":"b","path":"b","enabled":true,"weight":-1e300,"reference":"a","temperature":1.0,"prefix":"","mask":{"tokens":null,"positions":null},"source":"b","tokenizer":"tok"}],
 "priors":[],
 "decoding":{"temperature":0.0,"top_k":40,"top_p":0.9,"min_p":0.05,"seed":18446744073709551615,"stream":4294967295,"max_new_tokens":3,"eos_policy":"active","stop_ids":[2],"add_bos":false,"score_prompt":false,
             "plausibility":{"kind":"top_p","value":0.75,"why":1},"floor":0.1,"common_shift":true,"kl_budget":5e-324,"active_epsilon":0.3,"z":-0.0},
 "view":{"perspective":"Paper"},"author":{"name":"Ö"}})";

inline model::Session parse(const QByteArray& text, std::vector<std::string>* warnings = nullptr) {
    std::vector<std::string> ignored;
    return model::sessionFromJson(compute::parseOrderedJson(text.toStdString(), "test"), {}, warnings ? *warnings : ignored);
}

inline model::OrderedJson small() {
    return compute::parseOrderedJson(
        R"({"format":"counterpoint.session/1","base":{"path":"m"},"specialists":[{"name":"a","path":"a"}],"decoding":{}})", "test");
}

}  // namespace counterpoint::tests
