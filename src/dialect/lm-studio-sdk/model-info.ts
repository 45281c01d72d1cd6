import type { Model } from '../lm-studio/replies.ts'

/** A model as the SDKs know it. */
export function encodeInfo(model: Model, type: Model['type'] = model.type) {
  const { key, quantization, params_string: params, architecture, capabilities } = model
  return {
    type,
    modelKey: key,
    // One of the names that the SDKs have; a model behind another server has no file here.
    format: model.format ?? 'torch_safetensors',
    displayName: model.display_name,
    publisher: model.publisher,
    path: key,
    sizeBytes: model.size_bytes,
    indexedModelIdentifier: key,
    deviceIdentifier: null,
    maxContextLength: model.max_context_length,
    ...(params !== null && { paramsString: params }),
    ...(typeof architecture === 'string' && { architecture }),
    ...(quantization !== null && { quantization: { name: quantization.name, bits: quantization.bits_per_weight } }),
    ...(type === 'llm' && {
      vision: capabilities?.vision ?? false,
      trainedForToolUse: capabilities?.trained_for_tool_use ?? false,
    }),
  }
}

type InstanceOptions = { readonly contextLength: number; readonly identifier?: string; readonly type?: Model['type'] | undefined }

/** A model to use: its reference is its id, which stays valid on every connection. */
export function encodeInstance(model: Model, { contextLength, identifier = model.key, type }: InstanceOptions) {
  return {
    ...encodeInfo(model, type),
    identifier,
    instanceReference: model.key,
    ttlMs: null,
    lastUsedTime: null,
    contextLength,
  }
}
export type Instance = ReturnType<typeof encodeInstance>
