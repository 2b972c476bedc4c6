#include "model/trace.h"

#include "compute/text/utf8stream.h"

#include <algorithm>

namespace counterpoint::model {

using compute::Position;

const compute::Step* Trace::at(Position position) const {
    if (steps.empty()) return nullptr;
    const auto found = std::lower_bound(steps.begin(), steps.end(), position,
                                        [](const StepPtr& step, Position p) { return step->position < p; });
    return found != steps.end() && (*found)->position == position ? found->get() : nullptr;
}

std::string Trace::text() const {
    compute::Utf8Stream stream;
    std::string text;
    for (const std::string& bytes : tokenBytes) text += stream.push(bytes);
    return text + stream.finish();
}

compute::ContextText contextOf(const Trace& trace) {
    compute::ContextText text;
    for (std::size_t i = 0; i < trace.tokens.size(); ++i) text.push(trace.tokens[i], trace.tokenBytes.at(i));
    return text;
}

void appendStep(Trace& trace, const StepPtr& step) {
    const auto p = static_cast<std::size_t>(step->position);
    if (step->token != compute::kNoToken && p == trace.tokens.size()) {
        trace.tokens.push_back(step->token);
        trace.tokenBytes.push_back(step->bytes);
    }
    if (!trace.steps.empty() && trace.steps.back()->position == step->position)
        trace.steps.back() = step;
    else
        trace.steps.push_back(step);
}

std::string standingBytes(const compute::Tokenizer* tokenizer, const std::vector<compute::TokenId>& tokens,
                          std::size_t index) {
    if (tokenizer == nullptr) return {};
    const bool first = std::all_of(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(index),
                                   [&](compute::TokenId id) { return !tokenizer->isToken(id) || tokenizer->isControl(id); });
    return std::string(first ? tokenizer->firstBytes(tokens[index]) : tokenizer->bytes(tokens[index]));
}

OrderedJson viewToJson(const View& view, const OrderedJson& kept) {
    OrderedJson json = kept.is_object() ? kept : OrderedJson::object();
    json["cursor"] = view.cursor;
    json["source"] = view.source;
    json["top_count"] = view.topCount;
    json["log_scale"] = view.logScale;
    json["strip_measure"] = view.stripMeasure;
    json["routing_layer"] = view.routingLayer;
    json["routing_measure"] = view.routingMeasure;
    json.erase("prior");
    if (view.priorBank >= 0) json["prior"] = {{"bank", view.priorBank}, {"name", view.prior}};
    return json;
}

View viewFromJson(const OrderedJson& json) {
    View view;
    if (!json.is_object()) return view;
    const auto take = [&]<class T>(const char* key, bool (OrderedJson::*is)() const noexcept, T& out) {
        const auto found = json.find(key);
        if (found != json.end() && ((*found).*is)()) out = found->template get<T>();
    };
    take("cursor", &OrderedJson::is_number_integer, view.cursor);
    take("source", &OrderedJson::is_number_integer, view.source);
    take("top_count", &OrderedJson::is_number_integer, view.topCount);
    take("log_scale", &OrderedJson::is_boolean, view.logScale);
    take("strip_measure", &OrderedJson::is_string, view.stripMeasure);
    take("routing_layer", &OrderedJson::is_number_integer, view.routingLayer);
    take("routing_measure", &OrderedJson::is_string, view.routingMeasure);
    view.topCount = std::clamp(view.topCount, 1, 20);
    view.routingLayer = std::max(view.routingLayer, 0);
    if (const auto prior = json.find("prior"); prior != json.end() && prior->is_object()) {
        const auto bank = prior->find("bank"), name = prior->find("name");
        if (bank != prior->end() && bank->is_number_integer() && bank->get<std::int64_t>() >= 0 && bank->get<std::int64_t>() < 1000 && name != prior->end() && name->is_string()) {
            view.priorBank = bank->get<int>();
            view.prior = name->get<std::string>();
        }
    }
    return view;
}

}  // namespace counterpoint::model
