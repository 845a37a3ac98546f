/* A module of PAM for tests: a password, then a code. It knows everybody whom the machine knows. */
#include <stdlib.h>
#include <string.h>

struct pam_message {
  int msg_style;
  const char *msg;
};
struct pam_response {
  char *resp;
  int resp_retcode;
};
struct pam_conv {
  int (*conv)(int, const struct pam_message **, struct pam_response **, void *);
  void *appdata_ptr;
};
extern int pam_get_item(const void *handle, int item, const void **value);

enum { SUCCESS = 0, AUTH_ERR = 7, CONV = 5, SECRET = 1, OPEN = 2, TOLD = 4 };

static int ask(const struct pam_conv *conv, int style, const char *text, const char *right) {
  struct pam_message message = {style, text};
  const struct pam_message *messages = &message;
  struct pam_response *response = NULL;
  int good = conv->conv(1, &messages, &response, conv->appdata_ptr) == SUCCESS;
  if (response == NULL) return 0;
  if (right != NULL) good = good && response->resp != NULL && strcmp(response->resp, right) == 0;
  free(response->resp);
  free(response);
  return good;
}

int pam_sm_authenticate(void *handle, int flags, int argc, const char **argv) {
  const void *item = NULL;
  (void)flags, (void)argc, (void)argv;
  if (pam_get_item(handle, CONV, &item) != SUCCESS || item == NULL) return AUTH_ERR;
  const struct pam_conv *conv = item;
  const int password = ask(conv, SECRET, "Password: ", "right");
  ask(conv, TOLD, "A code was sent.", NULL);
  const int code = ask(conv, OPEN, "Code: ", "42");
  return password && code ? SUCCESS : AUTH_ERR;
}
int pam_sm_setcred(void *handle, int flags, int argc, const char **argv) {
  (void)handle, (void)flags, (void)argc, (void)argv;
  return SUCCESS;
}
int pam_sm_acct_mgmt(void *handle, int flags, int argc, const char **argv) {
  (void)handle, (void)flags, (void)argc, (void)argv;
  return SUCCESS;
}
