import { encodeModel, type ModelEntry } from './openai-models.ts'

/** What is told of one model beyond its place in a list. */
export type ModelFacts = { readonly slots: number; readonly contextLength?: number; readonly chatTemplate?: string }

/** tabbyAPI's card of the current model; what is not known before it is loaded is left out. */
export function encodeModelCard(entry: ModelEntry, { slots, contextLength, chatTemplate }: ModelFacts) {
  return {
    ...encodeModel(entry),
    parameters: {
      ...(contextLength !== undefined && { max_seq_len: contextLength }),
      max_batch_size: slots,
      ...(chatTemplate !== undefined && { prompt_template_content: chatTemplate }),
      use_vision: false,
    },
  }
}

/** llama-server's properties. Where the model's file lies is nobody's business who may only ask it things. */
export function encodeProps({ id }: Pick<ModelEntry, 'id'>, { slots, contextLength, chatTemplate }: ModelFacts, build: string) {
  return {
    default_generation_settings: { n_ctx: contextLength ?? null },
    total_slots: slots,
    model_alias: id,
    chat_template: chatTemplate ?? '',
    modalities: { vision: false, audio: false },
    build_info: build,
  }
}
