// The page about the configuration, docs/configuration.md, as text: what minke man minke.toml shows.
#pragma once

namespace minke::cli {

extern const char kConfigurationPage[];

}  // namespace minke::cli
