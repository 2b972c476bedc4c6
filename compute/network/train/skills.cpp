#include "compute/network/train/skills.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "compute/error.h"

namespace counterpoint::network::train {

namespace {

// Words that are as often a verb or a name ("fly", "bat", "seal", "robin", "pet") are left out.
constexpr std::array kAnimals = std::to_array<std::string_view>({
    "alligator",   "animal",    "animals",  "ant",      "ants",        "ape",       "bear",     "bears",     "bee",
    "bees",        "beetle",    "bird",     "birds",    "bug",         "bugs",      "bull",     "bunnies",   "bunny",
    "butterflies", "butterfly", "camel",    "cat",      "caterpillar", "cats",      "chick",    "chicken",   "chickens",
    "chicks",      "cow",       "cows",     "crab",     "crabs",       "crocodile", "crow",     "deer",      "dinosaur",
    "dinosaurs",   "dog",       "dogs",     "dolphin",  "dolphins",    "donkey",    "dove",     "duck",      "duckling",
    "ducklings",   "ducks",     "eagle",    "elephant", "elephants",   "fish",      "fishes",   "fox",       "foxes",
    "frog",        "frogs",     "geese",    "giraffe",  "goat",        "goats",     "goldfish", "goose",     "gorilla",
    "hamster",     "hawk",      "hedgehog", "hen",      "hens",        "hippo",     "horse",    "horses",    "insect",
    "insects",     "jellyfish", "kangaroo", "kitten",   "kittens",     "kitty",     "ladybug",  "lamb",      "lion",
    "lions",       "lizard",    "lobster",  "mice",     "mole",        "monkey",    "monkeys",  "mosquito",  "mouse",
    "mule",        "octopus",   "otter",    "owl",      "owls",        "panda",     "parrot",   "parrots",   "penguin",
    "penguins",    "pig",       "pigeon",   "piglet",   "pigs",        "pony",      "puppies",  "puppy",     "rabbit",
    "rabbits",     "raccoon",   "rat",      "rats",     "rooster",     "shark",     "sharks",   "sheep",     "shrimp",
    "snail",       "snails",    "snake",    "snakes",   "spider",      "spiders",   "squirrel", "squirrels", "starfish",
    "swan",        "swans",     "tiger",    "tigers",   "toad",        "turkey",    "turtle",   "turtles",   "unicorn",
    "whale",       "whales",    "wolf",     "wolves",   "worm",        "worms",     "zebra",    "zebras",
});

bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

constexpr std::size_t kKept = 4;  // what of the other skill stays: mean, share of zero, mean square; and the length
using Kept = std::array<double, kKept>;

Kept keptFeatures(const SkillRate& s, Skill skill) {
    // Rates above 15 per 100 words belong to a handful of very short stories; uncapped they would own the fit.
    const double y = std::min(skill == Skill::Dialogue ? s.animalWords : s.quotationMarks, 15.0);
    return {y, y == 0 ? 1.0 : 0.0, y * y / 10, s.words / 100};
}

double raised(const SkillRate& s, Skill skill) {
    return std::min(skill == Skill::Dialogue ? s.quotationMarks : s.animalWords, 15.0);
}

// Solves the small symmetric system a·x = b by Gaussian elimination with pivoting.
template <std::size_t N>
std::array<double, N> solve(std::array<std::array<double, N>, N> a, std::array<double, N> b) {
    for (std::size_t c = 0; c < N; ++c) {
        std::size_t pivot = c;
        for (std::size_t r = c + 1; r < N; ++r)
            if (std::abs(a[r][c]) > std::abs(a[pivot][c])) pivot = r;
        std::swap(a[c], a[pivot]);
        std::swap(b[c], b[pivot]);
        for (std::size_t r = c + 1; r < N; ++r) {
            const double f = a[r][c] / a[c][c];
            for (std::size_t k = c; k < N; ++k) a[r][k] -= f * a[c][k];
            b[r] -= f * b[c];
        }
    }
    std::array<double, N> x{};
    for (std::size_t c = N; c-- > 0;) {
        x[c] = b[c];
        for (std::size_t k = c + 1; k < N; ++k) x[c] -= a[c][k] * x[k];
        x[c] /= a[c][c];
    }
    return x;
}

SkillRate meanRate(std::span<const SkillRate> stories, std::span<const double> weight) {
    SkillRate m;
    for (std::size_t i = 0; i < stories.size(); ++i) {
        m.quotationMarks += weight[i] * stories[i].quotationMarks;
        m.animalWords += weight[i] * stories[i].animalWords;
        m.words += weight[i] * stories[i].words;
    }
    return m;
}

}  // namespace

std::span<const std::string_view> animalWords() { return kAnimals; }

SkillRate skillRate(std::string_view text) {
    double words = 0, animals = 0, marks = 0;
    for (std::size_t i = 0; i < text.size();) {
        if (isLetter(text[i])) {
            std::string word;
            while (i < text.size() &&
                   (isLetter(text[i]) || (text[i] == '\'' && i + 1 < text.size() && isLetter(text[i + 1]))))
                word += static_cast<char>(text[i] >= 'A' && text[i] <= 'Z' ? text[i] + 32 : text[i]), ++i;
            if (word.ends_with("'s")) word.resize(word.size() - 2);
            ++words;
            animals += std::binary_search(kAnimals.begin(), kAnimals.end(), word) ? 1 : 0;
            continue;
        }
        const std::string_view rest = text.substr(i);
        marks += text[i] == '"' || rest.starts_with("“") || rest.starts_with("”") ? 1 : 0;
        ++i;
    }
    const double per = words > 0 ? 100 / words : 0;
    return {marks * per, animals * per, words};
}

Tilt tilt(std::span<const SkillRate> stories, Skill skill, double gain, double otherGain) {
    constexpr std::size_t n = kKept + 1;
    const auto features = [&](const SkillRate& s) {
        std::array<double, n> f{};
        f[0] = raised(s, skill);
        std::ranges::copy(keptFeatures(s, skill), f.begin() + 1);
        return f;
    };
    Tilt t;
    t.weight.assign(stories.size(), 1.0 / static_cast<double>(stories.size()));
    t.corpus = meanRate(stories, t.weight);
    std::array<double, n> target{};
    for (std::size_t i = 0; i < stories.size(); ++i)
        for (std::size_t k = 0; k < n; ++k) target[k] += t.weight[i] * features(stories[i])[k];
    target[0] *= gain;
    // Mean, share of zero and mean square as they are when each story with the other skill counts otherGain times.
    target[1] *= otherGain;
    target[2] = 1 - otherGain * (1 - target[2]);
    target[3] *= otherGain;

    // Newton on the convex dual: gradient E_w[f] − target, Hessian Cov_w(f); steps halved far from the solution.
    std::array<double, n> theta{};
    for (int iteration = 0; iteration < 200; ++iteration) {
        double sum = 0, top = -1e300;
        std::vector<double> score(stories.size());
        for (std::size_t i = 0; i < stories.size(); ++i) {
            const auto f = features(stories[i]);
            for (std::size_t k = 0; k < n; ++k) score[i] += theta[k] * f[k];
            top = std::max(top, score[i]);
        }
        for (std::size_t i = 0; i < stories.size(); ++i) sum += t.weight[i] = std::exp(score[i] - top);
        std::array<double, n> mean{};
        std::array<std::array<double, n>, n> cov{};
        for (std::size_t i = 0; i < stories.size(); ++i) {
            t.weight[i] /= sum;
            const auto f = features(stories[i]);
            for (std::size_t k = 0; k < n; ++k) {
                mean[k] += t.weight[i] * f[k];
                for (std::size_t j = 0; j < n; ++j) cov[k][j] += t.weight[i] * f[k] * f[j];
            }
        }
        std::array<double, n> gap{};
        double worst = 0;
        for (std::size_t k = 0; k < n; ++k) {
            gap[k] = target[k] - mean[k];
            worst = std::max(worst, std::abs(gap[k]));
            for (std::size_t j = 0; j < n; ++j) cov[k][j] -= mean[k] * mean[j];
            cov[k][k] += 1e-9;
        }
        if (worst < 1e-6) {
            double squares = 0;
            for (const double w : t.weight) squares += w * w;
            t.effectiveStories = 1 / squares;
            t.mean = meanRate(stories, t.weight);
            return t;
        }
        const auto step = solve<n>(cov, gap);
        for (std::size_t k = 0; k < n; ++k) theta[k] += (iteration < 20 ? 0.5 : 1.0) * step[k];
    }
    throw compute::Error({.where = "choice of stories",
                          .what = "no weights give the skill that gain over its mean with the other skill unchanged",
                          .advice = "ask for a smaller gain"});
}

}  // namespace counterpoint::network::train
