/** The messages of the event stream and the routes beside it, described in /docs. */

export type RequestState = 'preparing' | 'waiting' | 'loading' | 'reading_prompt' | 'generating' | 'done' | 'failed' | 'cancelled'

type Timings = Readonly<
  Partial<Record<'queue_ms' | 'load_ms' | 'template_ms' | 'prompt_ms' | 'first_token_ms' | 'decode_ms' | 'total_ms', number>>
>

export type Attempt = {
  readonly server: string
  readonly outcome: string
  readonly error?: string
  readonly first_chunk_ms?: number
  readonly cache_hit?: boolean
}

export type WatchedRequest = {
  readonly id: string
  readonly request_id: string
  readonly key: string
  readonly route: string
  readonly state: RequestState
  readonly position?: number
  readonly estimated_wait_ms?: number
  readonly waits_for?: 'memory' | 'files' | 'load'
  readonly progress?: number
  readonly started_at_ms: number
  readonly ended_at_ms?: number
  readonly session_id?: string
  readonly batch_id?: string
  readonly model?: string
  readonly requested_model?: string
  readonly input_tokens?: number
  readonly cached_tokens?: number
  readonly output_tokens?: number
  readonly reasoning_tokens?: number
  readonly timings?: Timings
  readonly finish_reasons?: readonly string[]
  readonly diverged?: { readonly at: string; readonly part: string; readonly change?: string; readonly missed_tokens: number }
  readonly error?: { readonly code: string; readonly message?: string }
  readonly cancelled?: { readonly reason: string; readonly by?: string; readonly limit?: string }
  readonly attempts?: readonly Attempt[]
  readonly served_by?: string
}

export type Replica = {
  readonly host: string
  readonly state: 'healthy' | 'half_open' | 'unhealthy' | 'draining'
  readonly running: number
  readonly outstanding_tokens: number
  readonly source?: string
  readonly last_failure?: string
  readonly kind?: string
  readonly version?: string
  readonly context_length?: number
}

export type Model = {
  readonly id: string
  readonly aliases: readonly string[]
  readonly state: 'stopped' | 'starting' | 'loading' | 'ready' | 'draining' | 'failed'
  readonly progress?: number
  readonly reason?: string
  readonly slots: number
  readonly running: number
  readonly waiting: number
  readonly abilities: readonly string[]
  readonly context_length?: number
  readonly native_context_length?: number
  readonly engine?: string
  /** What runs it in the place of that engine, and why. */
  readonly runs_on?: string
  readonly added?: boolean
  readonly quantization?: string
  readonly file_bytes?: number
  readonly memory_bytes?: number
  readonly residency?: 'absent' | 'starting' | 'waiting' | 'loaded' | 'unloading'
  readonly unloads_at_ms?: number
  readonly servers?: readonly Replica[]
}

export type Load = {
  readonly model: string
  readonly phase: 'waiting' | 'downloading' | 'verifying' | 'loading' | 'warming_up'
  readonly done_bytes: number
  readonly total_bytes: number
  readonly fraction: number
}

export type Device = {
  readonly name: string
  readonly description: string
  readonly total_bytes: number
  readonly free_bytes: number
}

export type ServerState = {
  readonly version: string
  readonly can_load: boolean
  readonly keeps_bodies: boolean
  readonly memory?: { readonly budget_bytes: number; readonly used_bytes: number }
  readonly devices?: readonly Device[]
  readonly models: readonly Model[]
  readonly loads: readonly Load[]
}

export type LoadSample = {
  readonly at_ms: number
  readonly output_tokens_per_second: number
  readonly input_tokens_per_second: number
  readonly ended: number
  readonly failed: number
  readonly running: number
  readonly waiting: number
  readonly model_bytes: number
  readonly process_bytes: number
  readonly first_token_ms?: number
  readonly slow_first_token_ms?: number
}

export type LogLine = {
  readonly number: number
  readonly at_ms: number
  readonly level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal'
  readonly message: string
  readonly facts: Readonly<Record<string, unknown>>
}

export type ListedKey = {
  readonly id: string
  readonly name?: string
  readonly source: 'configuration' | 'made'
  readonly scopes: readonly string[]
  readonly models?: readonly string[]
  readonly tools?: readonly string[]
  readonly requests_per_minute?: number
  readonly tokens_per_minute?: number
  readonly tool_calls_per_minute?: number
  readonly tokens_per_day?: number
  readonly tokens_per_month?: number
  readonly group?: string
  readonly expires_at?: string
  readonly created_at?: string
  readonly last_used_at?: string
  readonly made_by?: string
}
/** The usage of keys since the first of the month. */
export type KeyUsage = {
  readonly usage: readonly { readonly key: string; readonly input_tokens: number; readonly output_tokens: number }[]
}
export type KeyList = { readonly required: boolean; readonly why_none?: string; readonly keys: readonly ListedKey[] }
