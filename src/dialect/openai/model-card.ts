import { given } from '../../base/json.ts'
import type { EngineFacts } from '../../contract/engine.ts'
import type { Sampling } from '../../contract/sampling.ts'
import type { CacheType, LoadSettings } from '../../contract/server/lifecycle.ts'
import { encodeModel, type ModelEntry } from './models.ts'
import type { ModelCard, Props } from './replies.ts'

/** Details of one model that lists leave out. */
export type ModelFacts = Pick<EngineFacts, 'contextLength' | 'chatTemplate' | 'sampling' | 'modalities'> & {
  readonly slots: number
  readonly templateName?: string
}

type Server = { readonly build: string; readonly models?: number }

/** tabbyAPI's card of the current model; unknown values, such as those of a model that is not loaded, are left out. */
export function encodeModelCard(entry: ModelEntry, facts: ModelFacts, settings: LoadSettings = {}): ModelCard {
  const { slots, contextLength, chatTemplate, templateName, modalities } = facts
  const { batchSize, draftModel, cacheTypeK, cacheTypeV } = settings
  return {
    ...encodeModel(entry),
    parameters: {
      ...(contextLength !== undefined && { max_seq_len: contextLength }),
      max_batch_size: slots,
      ...(contextLength !== undefined && { cache_size: contextLength * slots }),
      ...((cacheTypeK ?? cacheTypeV) !== undefined && { cache_mode: cacheMode(cacheTypeK, cacheTypeV) }),
      ...given({ chunk_size: batchSize, prompt_template: templateName, prompt_template_content: chatTemplate }),
      ...(modalities !== undefined && { use_vision: modalities.image }),
      // Also a card, with nothing more known about it.
      ...(draftModel !== undefined && {
        draft: {
          ...encodeModel({ id: draftModel, aliases: [], createdAtMs: entry.createdAtMs, state: entry.state }),
          parameters: {},
        },
      }),
    },
  }
}

/** In tabbyAPI's terms if it has one, otherwise in llama.cpp's. */
const cacheModes: Readonly<Partial<Record<CacheType, string>>> = { f16: 'FP16', q8_0: 'Q8', q4_0: 'Q4' }

function cacheMode(keys: CacheType = 'f16', values: CacheType = 'f16'): string {
  const [k, v] = [cacheModes[keys] ?? keys, cacheModes[values] ?? values]
  return k === v ? k : `${k},${v}`
}

/** llama-server's properties, except the path of the model's file, which clients must not see. `models`: how many a router has. */
export function encodeProps({ id }: Pick<ModelEntry, 'id'>, facts: ModelFacts, { build, models }: Server): Props {
  const { slots, contextLength, chatTemplate, sampling, modalities } = facts
  return {
    ...(models !== undefined && { role: 'router', max_instances: models, models_autoload: true }),
    default_generation_settings: { n_ctx: contextLength ?? null, params: encodeSampling(sampling ?? {}) },
    total_slots: slots,
    model_alias: id,
    model_path: id,
    is_sleeping: false,
    endpoint_slots: true,
    endpoint_props: false,
    endpoint_metrics: true,
    ui_settings: {},
    cors_proxy_enabled: false,
    chat_template: chatTemplate ?? '',
    ...(modalities !== undefined && {
      modalities: { vision: modalities.image, audio: modalities.audio, video: modalities.video === true },
    }),
    build_info: build,
  }
}

/** Sampling under llama-server's names; unknown values are left out. */
function encodeSampling({
  xtc,
  dry,
  dynamicTemperature,
  mirostat,
  adaptiveP,
  smoothing,
  ...sampling
}: Sampling): Record<string, unknown> {
  const params = {
    temperature: sampling.temperature,
    top_k: sampling.topK,
    top_p: sampling.topP,
    min_p: sampling.minP,
    repeat_penalty: sampling.repetitionPenalty,
    repeat_last_n: sampling.repetitionRange,
    presence_penalty: sampling.presencePenalty,
    frequency_penalty: sampling.frequencyPenalty,
    xtc_probability: xtc?.probability,
    xtc_threshold: xtc?.threshold,
    dry_multiplier: dry?.multiplier,
    dry_base: dry?.base,
    dry_allowed_length: dry?.allowedLength,
    dry_penalty_last_n: dry?.range,
    dry_sequence_breakers: dry?.sequenceBreakers,
    typical_p: sampling.typicalP,
    top_n_sigma: sampling.topNSigma,
    dynatemp_range: dynamicTemperature?.range,
    dynatemp_exponent: dynamicTemperature?.exponent,
    mirostat: mirostat?.version,
    mirostat_tau: mirostat?.tau,
    mirostat_eta: mirostat?.eta,
    adaptive_target: adaptiveP?.target,
    adaptive_decay: adaptiveP?.decay,
    top_a: sampling.topA,
    tfs: sampling.tailFree,
    smoothing_factor: smoothing?.factor,
    smoothing_curve: smoothing?.curve,
    skew: sampling.skew,
    repetition_decay: sampling.repetitionDecay,
  }
  return Object.fromEntries(Object.entries(params).filter(([, value]) => value !== undefined))
}
