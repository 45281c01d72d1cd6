import { z } from 'zod'
import type { EngineFacts } from '../../contract/engine.ts'
import type { Sampling } from '../../contract/sampling.ts'

/** The facts of a running llama-server's model. */
export type ServerFacts = Pick<
  EngineFacts,
  'contextLength' | 'trainedContextLength' | 'vocabularySize' | 'embeddingLength' | 'chatTemplate'
> & {
  readonly readsImages: boolean
  readonly readsAudio: boolean
  readonly readsVideo: boolean
  readonly version?: string
  /** The server's defaults for fields that a request omits: the file's recommendations, its arguments, or its own values. */
  readonly sampling?: Sampling
}

const value = z.number().nullish().catch(undefined)

const paramsSchema = z.object({
  temperature: value,
  top_p: value,
  top_k: value,
  min_p: value,
  repeat_penalty: value,
  presence_penalty: value,
  frequency_penalty: value,
})

/** `GET /props`. */
export const propsSchema = z.object({
  default_generation_settings: z.object({ n_ctx: z.int().nullish(), params: paramsSchema.nullish() }).nullish(),
  chat_template: z.string().nullish(),
  modalities: z.object({ vision: z.boolean().nullish(), audio: z.boolean().nullish(), video: z.boolean().nullish() }).nullish(),
  build_info: z.string().nullish(),
})

/** `GET /v1/models`. */
export const modelsSchema = z.object({
  data: z.array(
    z.object({
      id: z.string(),
      meta: z.object({ n_vocab: z.int().nullish(), n_embd: z.int().nullish(), n_ctx_train: z.int().nullish() }).nullish(),
    }),
  ),
})

export function readFacts(props: z.output<typeof propsSchema>, models: z.output<typeof modelsSchema>): ServerFacts {
  const meta = models.data[0]?.meta
  const contextLength = props.default_generation_settings?.n_ctx ?? undefined
  return {
    ...(contextLength !== undefined && { contextLength }),
    ...(typeof meta?.n_ctx_train === 'number' && { trainedContextLength: meta.n_ctx_train }),
    ...(typeof meta?.n_vocab === 'number' && { vocabularySize: meta.n_vocab }),
    ...(typeof meta?.n_embd === 'number' && { embeddingLength: meta.n_embd }),
    ...(typeof props.chat_template === 'string' && props.chat_template !== '' && { chatTemplate: props.chat_template }),
    ...(typeof props.build_info === 'string' && { version: props.build_info }),
    sampling: readSampling(props.default_generation_settings?.params ?? {}),
    readsImages: props.modalities?.vision === true,
    readsAudio: props.modalities?.audio === true,
    readsVideo: props.modalities?.video === true,
  }
}

function readSampling(params: z.output<typeof paramsSchema>): Sampling {
  const { temperature, top_p, top_k, min_p, repeat_penalty, presence_penalty, frequency_penalty } = params
  const values = {
    temperature: decimal(temperature),
    topP: decimal(top_p),
    topK: top_k ?? undefined,
    minP: decimal(min_p),
    repetitionPenalty: decimal(repeat_penalty),
    presencePenalty: decimal(presence_penalty),
    frequencyPenalty: decimal(frequency_penalty),
  }
  return Object.fromEntries(Object.entries(values).filter(([, each]) => each !== undefined))
}

/** A number of 32 bits as it was written: 0.8, not 0.800000011920929. */
function decimal(number: number | null | undefined): number | undefined {
  return typeof number === 'number' ? Number(number.toPrecision(7)) : undefined
}
