import type { ErrorReply } from '../../contract/dialect.ts'
import type { AppError } from '../../contract/errors.ts'
import type { FoundModel, LoadPhase, LoadReport, ModelReport } from '../../contract/server/lifecycle.ts'
import { encodeOpenaiError } from '../openai/errors.ts'
import type { Abilities, Active, Found, Loaded, Progress, Status, UnslothError } from './replies.ts'
import { readAbilities } from './template-abilities.ts'

/** The reply of `POST /api/inference/load`. */
export function encodeLoaded({ model, isNew }: { readonly model: ModelReport; readonly isNew: boolean }): Loaded {
  return {
    status: isNew ? 'loaded' : 'already_loaded',
    model: model.id,
    display_name: nameOf(model.id),
    is_lora: (model.settings.adapters ?? []).length > 0,
    ...describe(model),
    chat_template: model.facts.chatTemplate ?? null,
    cache_type_kv: cacheTypeOf(model),
    settings: model.settings,
  }
}

/** The reply of `POST /api/inference/validate`. */
export function encodeFound({ id, file, variant, readsImages, isAdapter, isGguf }: FoundModel): Found {
  return {
    valid: true,
    message: file === undefined ? `the file of ${id} is chosen when it is loaded` : `${id} is ${file}`,
    identifier: id,
    display_name: nameOf(id),
    is_gguf: isGguf,
    is_lora: isAdapter === true,
    is_vision: readsImages,
    requires_trust_remote_code: false,
    gguf_variant: variant ?? null,
  }
}

type Shown = {
  readonly active: ModelReport | undefined
  readonly models: readonly ModelReport[]
  readonly loads: readonly LoadReport[]
}

/** The reply of `GET /api/inference/status`: the active model; `models` is an addition. */
export function encodeStatus({ active, models, loads }: Shown): Status {
  return {
    active_model: active?.id ?? null,
    gguf_variant: active?.variant ?? null,
    loading: [...new Set([...loads.map(({ model }) => model), ...models.filter(isLoading).map(({ id }) => id)])],
    loaded: models.filter(({ state }) => state.type === 'ready').map(({ id }) => id),
    ...(active === undefined ? { is_gguf: false } : describe(active)),
    models: models.map((model) => ({
      id: model.id,
      aliases: model.aliases,
      engine: model.engine ?? null,
      state: model.state.type,
      gguf_variant: model.variant ?? null,
      requests: model.requests,
      slots: model.slots,
      context_length: model.facts.contextLength ?? null,
      native_context_length: model.facts.trainedContextLength ?? null,
      max_context_lengths: (model.longestContexts ?? []).map(({ slots, contextLength }) => {
        return { slots, context_length: contextLength }
      }),
    })),
  }
}

const phases: Readonly<Record<LoadPhase, string>> = {
  waiting: 'waiting',
  downloading: 'downloading',
  verifying: 'verifying',
  loading: 'mmap',
  'warming-up': 'warming_up',
}

/**
 * The reply of `GET /api/inference/load-progress`: the first load in progress, or the loaded model. `phase` has more values than Unsloth's.
 */
export function encodeProgress(loads: readonly LoadReport[], active: ModelReport | undefined): Progress {
  const [load] = loads
  if (load === undefined) {
    return {
      phase: active === undefined ? null : 'ready',
      bytes_loaded: 0,
      bytes_total: 0,
      fraction: active === undefined ? 0 : 1,
    }
  }
  const { phase, doneBytes, totalBytes, fraction, model } = load
  return { phase: phases[phase], bytes_loaded: doneBytes, bytes_total: totalBytes, fraction: round(fraction), model }
}

type RunningRequest = { readonly id: string; readonly sessionId?: string; readonly model?: string }

/** Generating calls, by the beginning of their reply ids. Other requests, such as loads, are not listed. */
const kinds: Readonly<Record<string, string>> = {
  chatcmpl: 'chat',
  msg: 'chat',
  resp: 'chat',
  stack: 'chat',
  gen: 'chat',
  cmpl: 'completions',
}

/** The reply of `GET /api/inference/active-generations`. A thread is a session; `id` and `model` are additions. */
export function encodeActive(running: readonly RunningRequest[], slots: number): Active {
  const active = running.flatMap(({ id, sessionId, model }) => {
    const kind = kinds[/^[a-z]+/.exec(id)?.[0] ?? '']
    return kind === undefined ? [] : [{ thread_id: sessionId ?? null, kind, id, model: model ?? null }]
  })
  const threads = new Set(active.flatMap(({ thread_id }) => thread_id ?? []))
  return { count: active.length, thread_ids: [...threads], active, parallel_slots: slots }
}

/** FastAPI's `detail`, beside OpenAI's envelope. */
export function encodeUnslothError(error: AppError): ErrorReply & { readonly body: UnslothError } {
  const { status, body } = encodeOpenaiError(error)
  return { status, body: { detail: body.error.message, ...body } }
}

function describe({ facts, variant, id, settings, longestContexts }: ModelReport): Abilities {
  const { contextLength, sampling, modalities } = facts
  return {
    is_vision: modalities?.image === true,
    is_gguf: variant !== undefined || facts.vocabularySize !== undefined,
    is_audio: false,
    audio_type: null,
    has_audio_input: modalities?.audio === true,
    inference: {
      temperature: sampling?.temperature ?? null,
      top_p: sampling?.topP ?? null,
      top_k: sampling?.topK ?? null,
      min_p: sampling?.minP ?? null,
      presence_penalty: sampling?.presencePenalty ?? null,
      trust_remote_code: false,
    },
    requires_trust_remote_code: false,
    context_length: contextLength ?? null,
    max_context_length: longestContexts?.[0]?.contextLength ?? facts.trainedContextLength ?? null,
    native_context_length: facts.trainedContextLength ?? null,
    ...readAbilities(facts.chatTemplate, id),
    speculative_type: settings.speculation ?? null,
  }
}

/** One format for both, as in Unsloth; two different ones as `keys/values`. */
function cacheTypeOf({ settings: { cacheTypeK, cacheTypeV } }: ModelReport): string | null {
  if (cacheTypeK === cacheTypeV) return cacheTypeK ?? null
  return `${cacheTypeK ?? 'f16'}/${cacheTypeV ?? 'f16'}`
}

function isLoading({ state }: ModelReport): boolean {
  return state.type === 'starting' || state.type === 'loading'
}

function nameOf(id: string): string {
  return id.slice(id.lastIndexOf('/') + 1)
}

function round(fraction: number): number {
  return Math.round(fraction * 10_000) / 10_000
}
