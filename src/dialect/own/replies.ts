import type { z } from 'zod'
import { anyObject, anything, flag, list, named, number, object, oneOf, text, texts } from '../wire/json/shapes.ts'

const state = oneOf(['preparing', 'waiting', 'loading', 'reading_prompt', 'generating', 'done', 'failed', 'cancelled'])
export const request = named(
  'WatchedRequest',
  object({
    id: text,
    request_id: text,
    key: text,
    route: text,
    state,
    position: number.optional(),
    estimated_wait_ms: number.optional(),
    waits_for: oneOf(['memory', 'files', 'load']).optional(),
    progress: number.optional(),
    started_at_ms: number,
    ended_at_ms: number.optional(),
    session_id: text.optional(),
    batch_id: text.optional(),
    model: text.optional(),
    requested_model: text.optional(),
    input_tokens: number.optional(),
    cached_tokens: number.optional(),
    output_tokens: number.optional(),
    reasoning_tokens: number.optional(),
    timings: object({
      queue_ms: number.optional(),
      load_ms: number.optional(),
      template_ms: number.optional(),
      prompt_ms: number.optional(),
      first_token_ms: number.optional(),
      decode_ms: number.optional(),
      total_ms: number.optional(),
    }).optional(),
    finish_reasons: texts.optional(),
    diverged: object({ at: text, part: text, change: text.optional(), missed_tokens: number }).optional(),
    diverged_texts: object({ lead: text, before: text, now: text, trail: text }).optional(),
    error: object({ code: text, message: text.optional() }).optional(),
    cancelled: object({ reason: text, by: text.optional(), limit: text.optional() }).optional(),
    attempts: list(
      object({
        server: text,
        outcome: oneOf(['ok', 'busy', 'failed', 'refused', 'cancelled']),
        error: text.optional(),
        first_chunk_ms: number.optional(),
        cache_hit: flag.optional(),
      }),
    ).optional(),
    served_by: text.optional(),
    sent: object({ path: text, body: anything }).optional(),
  }),
)
export type WireRequest = z.input<typeof request>
export const requests = object({ requests: list(request) })

const replica = object({
  host: text,
  state: oneOf(['healthy', 'half_open', 'unhealthy', 'draining']),
  running: number,
  outstanding_tokens: number,
  source: text.optional(),
  last_failure: text.optional(),
  kind: text.optional(),
  version: text.optional(),
  context_length: number.optional(),
})
export type WireReplica = z.input<typeof replica>
const model = object({
  id: text,
  aliases: texts,
  state: oneOf(['stopped', 'starting', 'loading', 'ready', 'draining', 'failed']),
  progress: number.optional(),
  reason: text.optional(),
  slots: number,
  running: number,
  waiting: number,
  abilities: texts,
  context_length: number.optional(),
  native_context_length: number.optional(),
  engine: text.optional(),
  runs_on: text.optional(),
  added: flag.optional(),
  quantization: text.optional(),
  file_bytes: number.optional(),
  memory_bytes: number.optional(),
  residency: oneOf(['absent', 'starting', 'waiting', 'loaded', 'unloading']).optional(),
  unloads_at_ms: number.optional(),
  servers: list(replica).optional(),
})
export type WireModel = z.input<typeof model>
const load = object({
  model: text,
  phase: oneOf(['waiting', 'downloading', 'verifying', 'loading', 'warming_up']),
  done_bytes: number,
  total_bytes: number,
  fraction: number,
})
export type WireLoad = z.input<typeof load>
const device = object({ name: text, description: text, total_bytes: number, free_bytes: number })
export type WireDevice = z.input<typeof device>
export const server = named(
  'ServerState',
  object({
    version: text,
    can_load: flag,
    keeps_bodies: flag,
    memory: object({ budget_bytes: number, used_bytes: number }).optional(),
    devices: list(device).optional(),
    models: list(model),
    loads: list(load),
  }),
)
export type WireServer = z.input<typeof server>

/** The levels of the log, the least urgent first. */
export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const
const line = object({ number, at_ms: number, level: oneOf(logLevels), message: text, facts: anyObject })
export type LogLine = z.input<typeof line>
export const logs = object({ lines: list(line) })

const sample = object({
  at_ms: number,
  output_tokens_per_second: number,
  input_tokens_per_second: number,
  ended: number,
  failed: number,
  running: number,
  waiting: number,
  model_bytes: number,
  process_bytes: number,
  first_token_ms: number.optional(),
  slow_first_token_ms: number.optional(),
})
export type LoadSample = z.input<typeof sample>
/** The data of any event; its name decides which members exist. */
export const event = named(
  'ServerEvent',
  object({
    requests: list(request).optional(),
    missed: number.optional(),
    more: flag.optional(),
    samples: list(sample).optional(),
    lines: list(line).optional(),
  }).catchall(anything),
)

const listedKey = object({
  id: text,
  name: text.optional(),
  source: oneOf(['configuration', 'made']),
  scopes: texts,
  models: texts.optional(),
  tools: texts.optional(),
  requests_per_minute: number.optional(),
  tokens_per_minute: number.optional(),
  tool_calls_per_minute: number.optional(),
  tokens_per_day: number.optional(),
  tokens_per_month: number.optional(),
  group: text.optional(),
  expires_at: text.optional(),
  created_at: text.optional(),
  last_used_at: text.optional(),
  made_by: text.optional(),
})
export type WireKey = z.input<typeof listedKey>
const use = { requests: number, input_tokens: number, cached_input_tokens: number, output_tokens: number }
/** The use of keys, by day and model, and of it that of batches, and what remains of the caller's budgets. */
export const usage = object({
  from: text,
  to: text,
  usage: list(
    object({
      day: text,
      key: text,
      model: text,
      ...use,
      batch: object(use).optional(),
    }),
  ),
  budgets: list(
    object({
      period: oneOf(['day', 'month']),
      group: text.optional(),
      limit: number,
      used: number,
      remaining: number,
      resets_at: text,
    }),
  ),
})
export type WireUsage = z.input<typeof usage>
export const keys = object({ required: flag, why_none: text.optional(), keys: list(listedKey) })
export type WireKeys = z.input<typeof keys>
export const madeKey = listedKey.extend({ key: text })
export const deletedKey = object({ id: text, deleted: flag })

const abilities = list(oneOf(['vision', 'thinking', 'tools', 'embedding']))
/** The models that a load can fetch. */
export const offers = object({
  models: list(
    object({
      name: text,
      title: text,
      size_bytes: number,
      max_context_length: number,
      abilities,
      fits: flag,
      proposed: flag,
    }),
  ),
  repositories: list(object({ name: text, downloads: number, likes: number, abilities })),
  problem: text.optional(),
})

export const serverTools = object({
  tools: list(
    object({
      name: text,
      kind: oneOf(['web-search', 'python', 'terminal', 'mcp']),
      server: text.optional(),
      server_tool: text.optional(),
      description: text,
      needs_approval: flag,
    }),
  ),
  absent: list(object({ name: text, why: text })),
  own_server_hosts: list(text),
})

/** The file of a model, and the memory that a load takes. */
export const loadEstimate = object({
  model: text,
  source: text,
  size_bytes: number,
  slots: number,
  context_length: number.optional(),
  max_context_length: number.optional(),
  memory_bytes: number.optional(),
  gpu_bytes: number.optional(),
  layers: number.optional(),
  budget_bytes: number,
  longest: list(object({ slots: number, context_length: number })),
})
export type WireLoadEstimate = z.input<typeof loadEstimate>
export const modelFile = loadEstimate.extend({ path: text, fetched: flag })
export type WireModelFile = z.input<typeof modelFile>
export const deletedFile = object({ model: text, freed_bytes: number })
