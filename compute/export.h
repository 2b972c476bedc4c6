#pragma once
// What the compute library shows to the other layers and to its two late modules; everything else is hidden.
#define COUNTERPOINT_API __attribute__((visibility("default")))
