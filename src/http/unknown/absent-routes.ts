/** The base URL itself and unsupported routes of other servers. The first that matches decides. */
const absent: readonly { readonly paths: RegExp; readonly why: string }[] = [
  {
    paths: /^\/v1$/,
    why: 'it is the base URL of clients, which add a route such as /chat/completions; GET /v1/models lists the models',
  },
  {
    paths: /^\/(api\/inference|v1)\/monitor(\/|$)/,
    why: 'use GET /api/requests for what runs and what has ended, GET /api/events to hear of it, and GET /metrics for counts',
  },
  {
    paths: /^\/microserving(\/|$)/,
    why: 'prompts are not handed from one engine to another: send the whole request to /v1/chat/completions; vLLM and SGLang behind this server may divide it among theirs',
  },
  {
    paths: /^\/debug\/cuda_profiler_(start|stop)$/,
    why: 'profile the process instead: `nsys profile dragoman serve`',
  },
  {
    paths: /^\/debug\/(reset_engine|dump_engine_metrics|dump_event_trace)$/,
    why: 'set `server.debug: on` for it',
  },
  {
    paths: /^\/api\/shutdown$/,
    why: 'a server is stopped where it was started: send its process SIGTERM (Ctrl+C in its terminal), which lets running requests end',
  },
  {
    paths: /^\/api\/system(\/|$)/,
    why: 'run `dragoman doctor` on the machine for its hardware; use GET /api/inference/status for the models, and GET /metrics for the memory in use',
  },
  {
    paths: /^\/api\/auth(\/|$)/,
    why: "there are no accounts to log in to: send an API key as 'authorization: Bearer KEY'; `dragoman keys new` makes one",
  },
  {
    paths: /^\/api\/models(\/|$)/,
    why: 'use GET /v1/models for the models, GET /api/inference/status for their states, and POST /api/inference/validate for one that is not listed',
  },
  {
    paths: /^\/api\/(data-recipe|datasets|export|mcp|providers|rag|settings|train)(\/|$)/,
    why: "of Unsloth Studio's APIs, only inference is served: see docs/reference/compatibility.md",
  },
]

/** Why this server lacks such a route, and what to use instead; undefined for paths of no known client. */
export function whyRouteIsAbsent(path: string): string | undefined {
  const plain = path.replace(/\/+$/, '')
  return absent.find(({ paths }) => paths.test(plain))?.why
}
