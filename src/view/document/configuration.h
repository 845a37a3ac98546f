// The configuration, and what the accounts' keeper tells of itself, for --json and --yaml. Pure.
#pragma once

#include "view/document/document.h"

namespace minke::api {
class ConfigReply;
}  // namespace minke::api

namespace minke::view {

// Writes "slurm_conf" and "slurm_conf_meta". Each key that a version has takes the value of its name.
void describe_configuration(Document& document, const api::ConfigReply& config);
// Writes "slurmdbd_conf": of the part of the daemon that keeps the accounts.
void describe_accounting_configuration(Document& document, const api::ConfigReply& config);

}  // namespace minke::view
