#include "software/shell_init.h"

#include "software/module_files.h"
#include "software/software_home.h"
#include "text/shell_quote.h"

namespace minke::software {

namespace {

// The body of the function `module`, in one line. A trace of Lmod's answer (set -x) would
// fill a job's output.
std::string module_body(const std::string& minke) {
  const std::string command =
      text::shell_quoted(minke) + " modulecmd \"${ZSH_VERSION:+zsh}${BASH_VERSION:+bash}\"";
  return "{ case \"$-\" in *x*) set +x; __minke_trace=1;; esac; "
         "[ -n \"${MINKE_MODULES:-}\" ] || eval \"$(" +
         command +
         " --initial)\" || :; "
         "eval \"$(" +
         command +
         " \"$@\")\" && __minke_status=0 || __minke_status=$?; "
         "if [ -n \"${__minke_trace:-}\" ]; then unset __minke_trace; set -x; fi; "
         "return $__minke_status; }";
}

std::string ml_body() {
  return "{ eval \"$(" + std::string(kLmodDirectory) + "/libexec/ml_cmd \"$@\")\"; }";
}

}  // namespace

std::string commands_in_front() {
  return "case \"$PATH\" in \"$MINKE_HOME\"/bin:*) ;; *) export PATH=\"$MINKE_HOME/bin:$PATH\" ;; esac;";
}

std::string posix_functions(const std::string& minke) {
  return "module() " + module_body(minke) + "\n" + "ml() " + ml_body() + "\n";
}

std::string csh_functions(const std::string& minke) {
  return "alias module 'eval `" + minke + " modulecmd tcsh \\!*`'\n" + "alias ml 'eval `" + kLmodDirectory +
         "/libexec/ml_cmd \\!*`'\n";
}

std::string login_shell_init(const std::string& home) {
  return "if [ -n \"${SLURM_JOB_ID:-}\" ] && [ -n \"${BASH_VERSION:-}\" ] && shopt -q login_shell; then\n"
         "  export MINKE_HOME=" +
         text::shell_quoted(home) + "\n  " + commands_in_front() + "\nfi\n";
}

std::string posix_init(const std::string& minke, const std::string& home) {
  return posix_functions(minke) +
         "if [ -n \"${BASH_VERSION:-}\" ]; then\n"
         "  export -f module ml\n"
         "  case \"${BASH_ENV:-}\" in ''|*/lmod/init/bash) export BASH_ENV=" +
         text::shell_quoted(init_path(home) + "/sh") +
         " ;; esac\n"
         "fi\n"
         "export PIP_CONFIG_FILE=\"${PIP_CONFIG_FILE:-" +
         wheels_path(home) +
         "/pip.conf}\"\n"
         "export MINKE_WHEEL_CACHE=" +
         text::shell_quoted(wheel_cache_path(home)) + "\n";
}

std::string csh_init(const std::string& minke, const std::string& home) {
  return csh_functions(minke) + "if ( ! $?MINKE_MODULES ) eval `" + minke + " modulecmd tcsh --initial`\n" +
         "if ( ! $?PIP_CONFIG_FILE ) setenv PIP_CONFIG_FILE " +
         text::shell_quoted(wheels_path(home) + "/pip.conf") + "\n" + "setenv MINKE_WHEEL_CACHE " +
         text::shell_quoted(wheel_cache_path(home)) + "\n";
}

std::string job_environment(const std::string& minke, const std::string& home) {
  return "BASH_FUNC_module%%=() " + module_body(minke) + "\n" + "BASH_FUNC_ml%%=() " + ml_body() + "\n" +
         "?BASH_ENV=" + init_path(home) + "/sh\n" +
         "?USER_IS_ROOT=1\n"  // keeps /etc/profile.d/lmod.sh from replacing these
         "?MODULESHOME=" +
         kLmodDirectory + "\n" + "?LMOD_CMD=" + kLmodDirectory + "/libexec/lmod\n" +
         "?PIP_CONFIG_FILE=" + wheels_path(home) + "/pip.conf\n" +
         "MINKE_WHEEL_CACHE=" + wheel_cache_path(home) + "\n";
}

}  // namespace minke::software
