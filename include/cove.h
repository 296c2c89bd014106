/* libcove: sandboxes for shell commands, and the terminal tool of an agent, as a C interface.
 *
 * Requests and answers are JSON texts (UTF-8, ended by a NUL); bytes that may be anything (files, output, stdin) travel
 * beside them. What is returned as `char *` is the caller's: cove_free() it. It is never null.
 *
 * An answer that failed is {"error": {"code": CODE, "message": TEXT}} with CODE one of invalid, not_found, conflict,
 * denied, unsupported, busy, timeout, cancelled, disconnected, protocol, internal. A command that exits with 1 has
 * worked.
 *
 * Every function may be called from any thread; one handle may be used by several at once. Callbacks are called in the
 * thread of the call, and may not close its handle. COVE_ABI grows when functions are added; what is there stays.
 */
#ifndef COVE_H
#define COVE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define COVE_ABI 1

#if defined(__GNUC__)
#define COVE_PUBLIC __attribute__((visibility("default")))
#else
#define COVE_PUBLIC
#endif

COVE_PUBLIC int cove_abi(void);             /* COVE_ABI of the library that is loaded */
COVE_PUBLIC const char* cove_version(void); /* as "0.1.0"; not to be freed */
COVE_PUBLIC void cove_free(char* text);

/* Stops calls from another thread. A command whose call is stopped is interrupted: outcome "interrupted", exit code
 * 130. Free it when no call uses it any more. */
typedef struct cove_stop cove_stop;
COVE_PUBLIC cove_stop* cove_stop_new(void);
COVE_PUBLIC void cove_stop_request(cove_stop* stop);
COVE_PUBLIC void cove_stop_free(cove_stop* stop);

/* What a call may bring along; a null pointer, or zeros, for nothing. */
typedef struct cove_hooks {
  size_t size; /* sizeof(cove_hooks) of the caller */
  void* user;  /* given to each of the functions */
  cove_stop* stop;
  /* Output as it comes; stream is 1, or 2 where stderr was asked for apart. */
  void (*output)(void* user, int stream, const char* bytes, size_t size);
  /* While a command runs, about every tick_ms milliseconds. */
  void (*tick)(void* user);
  uint32_t tick_ms;
  /* A person must decide whether a command may run; `why` is a sentence. Without this nobody can be asked: it is not
   * run. */
  int (*approve)(void* user, const char* command, const char* why);
} cove_hooks;

/* What approve() answers; anything else is no. */
enum { COVE_DENY = 0, COVE_ONCE = 1, COVE_SESSION = 2, COVE_ALWAYS = 3 };

/* --- the terminal tool ------------------------------------------------------------------------------------------- */

/* {"command": TEXT, "task_id": TEXT, "background": BOOL, "timeout": SECONDS, "workdir": DIR, "pty": BOOL,
 *  "stdin": TEXT, "notify_on_complete": BOOL, "watch_patterns": [TEXT], "overrides": {...}}:
 * the answer has output, exit_code, error and, where they apply, status, cwd, session_id and others; its failures are
 * told in these fields, too. */
COVE_PUBLIC char* cove_terminal(const char* request, const cove_hooks* hooks);
/* {"action": "list"|"poll"|"log"|"wait"|"kill"|"write"|"submit"|"close"|"watch", "session_id": ID, ...} */
COVE_PUBLIC char* cove_terminal_process(const char* request, const cove_hooks* hooks);
/* What background commands have told since the last time, as a list; waits for the first one, at most so long. */
COVE_PUBLIC char* cove_terminal_notifications(uint32_t wait_ms);
/* {"task_id": TEXT, "remove": BOOL} */
COVE_PUBLIC char* cove_terminal_cleanup(const char* request);
/* {"task_id": TEXT, "overrides": {...} or null} */
COVE_PUBLIC char* cove_terminal_overrides(const char* request);
/* Ends all tasks of this process. They end with it in any case; this waits for it. */
COVE_PUBLIC void cove_terminal_cleanup_all(void);

/* --- sandboxes --------------------------------------------------------------------------------------------------- */

typedef struct cove_sandbox cove_sandbox;

/* {"verb": "create", "backend": NAME, "image": NAME, "name": TEXT, "cwd": DIR, "env": {...}, "forward_env": [...],
 *  "volumes": [...], "memory": SIZE, ..., "persistent": BOOL, "owned": BOOL, "from": TAG, "checkpoint": BOOL},
 * {"verb": "open", "name": TEXT} or {"verb": "restart", "name": TEXT}. Owned (the default of "create" unless it is
 * persistent): it ends with its handle or with this process. On success *sandbox is the handle and the answer
 * {"name": TEXT, "notes": TEXT}; otherwise *sandbox is null. */
COVE_PUBLIC char* cove_sandbox_get(const char* request, const cove_hooks* hooks, cove_sandbox** sandbox);
/* Ends an owned sandbox, and forgets any. */
COVE_PUBLIC void cove_sandbox_close(cove_sandbox* sandbox);

/* clang-format off */
/* One request to a sandbox: {"verb": VERB, ...}. `bytes` (may be null) is stdin or the content of a file; output and the
 * content of files come by hooks->output.
 *   run         script or argv, session, cwd, user, env [K=V], timeout (s), split, pty, rows, columns, id,
 *               stdin (bool: whether `bytes` is stdin) -> the outcome
 *   start       the same, open_stdin -> {"id": ID};  attach: id, from, follow -> the outcome
 *   feed        id, eof; `bytes` go to its stdin;    signal: id, signal (0: end the tree), grace_ms
 *   status      id -> the outcome;  list -> outcomes;  inspect -> about the sandbox
 *   read_file   path;  write_file: path, mode, `bytes`;  list_files, stat_file, make_directory, remove_file: path
 *   move_file   from, to;  copy_in, copy_out: from, to -> {"skipped": [TEXT]}
 *   snapshot    tag;  restore: tag;  undo: count;  history;  checkpoint: on;  pause;  resume
 *   stop        remove, grace_ms */
/* clang-format on */
COVE_PUBLIC char* cove_sandbox_call(cove_sandbox* sandbox, const char* request, const char* bytes, size_t size,
                                    const cove_hooks* hooks);
/* Copies, running by themselves: forks[0..count-1] are handles on success; the answer is {"names": [TEXT]}. */
COVE_PUBLIC char* cove_sandbox_fork(cove_sandbox* sandbox, size_t count, const cove_hooks* hooks, cove_sandbox** forks);
/* All sandboxes of this user: a list. */
COVE_PUBLIC char* cove_sandboxes(void);
/* {"name": TEXT}: ends it, if it runs, and forgets everything about it. */
COVE_PUBLIC char* cove_sandbox_remove(const char* request);

#ifdef __cplusplus
}
#endif

#endif
